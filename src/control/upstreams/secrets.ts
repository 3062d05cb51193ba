import { join } from "node:path";
import type { NewEvent } from "../../core/event.ts";
import { type Millis, millis } from "../../core/ids.ts";
import { err, ok, type Result } from "../../core/result.ts";
import type { Upstream } from "../../core/upstream.ts";
import { readCertificates } from "../../pki/pem.ts";
import type { Clock } from "../../platform/clock.ts";
import { fileStamp, realPath } from "../../platform/folders.ts";
import { readSmallFile } from "../../platform/small-file.ts";

/** What an upstream is dialled with, beside what its manifest says. */
export interface UpstreamSecret {
  /** "": it asks for none. */
  readonly key: string;
  /** PEM; "": the authorities that the system trusts. */
  readonly ca: string;
}

export interface UpstreamSecretsOptions {
  readonly clock: Clock;
  /** The control plane's own: who may apply manifests must not have it send its own secrets elsewhere. */
  readonly ownFolder: string | undefined;
}

interface SecretFile {
  readonly what: "key" | "ca";
  readonly path: string;
}

interface Held {
  /** Of the last content that was good; undefined: there was none. */
  readonly text: string | undefined;
  /** Why the present content is not in force; undefined: it is. */
  readonly trouble: string | undefined;
  /** Of the file as it was read. */
  readonly read: string | undefined;
  /** Of the file as it was seen last. */
  readonly seen: string | undefined;
}

/** A file that was replaced is noticed after so long, at most twice. */
const LOOK_EVERY = millis(1_000);

/**
 * The files that upstreams name, read on this machine and kept in memory alone. A file may be replaced at any time: what was
 * good stays in force until what is new is good.
 */
export class UpstreamSecrets {
  readonly #options: UpstreamSecretsOptions;
  readonly #held = new Map<string, Held>();
  /** Of those, the files that nobody named at the last look. */
  #unnamed: ReadonlySet<string> = new Set();
  #isLooking = false;
  #lookedAt: Millis | undefined;

  constructor(options: UpstreamSecretsOptions) {
    this.#options = options;
  }

  /** Reads the files now. Answers why upstreams cannot be used as they are, in sentences without their full stops. */
  async look(upstreams: readonly Upstream[]): Promise<readonly string[]> {
    for (const upstream of upstreams) for (const file of filesOf(upstream)) await this.#read(file);
    return upstreams.flatMap((upstream) => {
      const trouble = this.troubleOf(upstream);
      return trouble === undefined ? [] : [`${upstream.name}: ${trouble}`];
    });
  }

  /** What is in force; the error says what there never was. */
  of(upstream: Upstream): Result<UpstreamSecret, string> {
    const texts = { key: "", ca: "" };
    for (const file of filesOf(upstream)) {
      const held = this.#held.get(keyOf(file));
      if (held?.text === undefined) return err(held?.trouble ?? `${file.path} has not been read yet`);
      texts[file.what] = held.text;
    }
    return ok(texts);
  }

  /** Every key that is in force. */
  keys(): readonly string[] {
    return [...this.#held].flatMap(([name, { text }]) => (name.startsWith("key ") && text !== undefined ? [text] : []));
  }

  /** Why something of it is not in force as it lies on disk; undefined: all of it is. */
  troubleOf(upstream: Upstream): string | undefined {
    const troubles = filesOf(upstream).map((file) => this.#held.get(keyOf(file))?.trouble);
    return troubles.find((trouble) => trouble !== undefined);
  }

  /** To be called again and again: looks whether files were replaced, and tells of what came of it. */
  async follow(upstreams: readonly Upstream[], tell: (events: readonly NewEvent[]) => void): Promise<void> {
    const now = this.#options.clock.monotonic();
    const isSoon = this.#lookedAt !== undefined && now - this.#lookedAt < LOOK_EVERY;
    if (this.#isLooking || isSoon || (upstreams.length === 0 && this.#held.size === 0)) return;
    this.#lookedAt = now;
    this.#isLooking = true;
    try {
      const events = await this.#lookAgain(upstreams);
      if (events.length > 0) tell(events);
    } finally {
      this.#isLooking = false;
    }
  }

  async #lookAgain(upstreams: readonly Upstream[]): Promise<readonly NewEvent[]> {
    const events: NewEvent[] = [];
    this.#forgetAllBut(new Set(upstreams.flatMap(filesOf).map(keyOf)));
    for (const upstream of upstreams) {
      for (const file of filesOf(upstream)) events.push(...(await this.#followOne(upstream.name, file)));
    }
    return events;
  }

  /** What nobody names at two looks. What has just been read is of an upstream that is about to be remembered. */
  #forgetAllBut(named: ReadonlySet<string>): void {
    const unnamed = [...this.#held.keys()].filter((key) => !named.has(key));
    for (const key of unnamed) if (this.#unnamed.has(key)) this.#held.delete(key);
    this.#unnamed = new Set(unnamed);
  }

  /** A file that was the same at two looks is whole. */
  async #followOne(subject: string, file: SecretFile): Promise<readonly NewEvent[]> {
    const before = this.#held.get(keyOf(file));
    const seen = await fileStamp(file.path);
    if (before !== undefined) this.#held.set(keyOf(file), { ...before, seen });
    if (before !== undefined && (seen === before.read || seen !== before.seen)) return [];
    return newsOf({ subject, file, before, after: await this.#read(file) });
  }

  async #read(file: SecretFile): Promise<Held> {
    const read = await fileStamp(file.path);
    const text = (await this.#isOwn(file))
      ? err(`${file.path} is one of the control plane's own files`)
      : await textOf(file);
    const before = this.#held.get(keyOf(file))?.text;
    const held: Held = text.ok
      ? { text: text.value, trouble: undefined, read, seen: read }
      : { text: before, trouble: text.error, read, seen: read };
    this.#held.set(keyOf(file), held);
    return held;
  }

  async #isOwn({ path }: SecretFile): Promise<boolean> {
    const { ownFolder } = this.#options;
    return ownFolder !== undefined && (await realPath(path)).startsWith(join(await realPath(ownFolder), "/"));
  }
}

interface Followed {
  /** The upstream's name. */
  readonly subject: string;
  readonly file: SecretFile;
  readonly before: Held | undefined;
  readonly after: Held;
}

/** What is worth telling of a file that was read again. */
function newsOf({ subject, file, before, after }: Followed): readonly NewEvent[] {
  const { trouble, text } = after;
  const event = { subjectKind: "upstream", subject } as const;
  if (trouble === undefined) {
    const message = `upstream ${subject}: the content of ${file.path} is in force`;
    return text === before?.text ? [] : [{ ...event, level: "info", reason: "UpstreamFileRead", message }];
  }
  if (trouble === before?.trouble) return [];
  const message = `upstream ${subject}: ${trouble}; ${inForceInWords(text !== undefined)}`;
  return [{ ...event, level: "warning", reason: "UpstreamFileUnusable", message }];
}

/** What becomes of an upstream with a file that cannot be used. */
export const inForceInWords = (isAsked: boolean): string =>
  isAsked ? "what was read before stays in force" : "it is not asked";

const keyOf = ({ what, path }: SecretFile): string => `${what} ${path}`;

function filesOf({ keyFile, caFile }: Upstream): readonly SecretFile[] {
  const key = keyFile === undefined ? [] : [{ what: "key", path: keyFile } as const];
  const ca = caFile === undefined ? [] : [{ what: "ca", path: caFile } as const];
  return [...key, ...ca];
}

async function textOf({ what, path }: SecretFile): Promise<Result<string, string>> {
  const read = await readSmallFile(path, { isSecret: what === "key" });
  if (!read.ok) return read;
  if (what === "key") {
    const key = read.value.trim();
    // It stands in a header line.
    return /^[\x21-\x7e]+$/.test(key) ? ok(key) : err(`${path} holds no key: one line without spaces is looked for`);
  }
  const certificates = readCertificates(read.value);
  if (!certificates.ok) return err(`${path} ${certificates.error}`);
  return ok(certificates.value.map((certificate) => certificate.toString()).join(""));
}
