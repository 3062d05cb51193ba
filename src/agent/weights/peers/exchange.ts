import { canonicalJson } from "../../../core/fingerprint.ts";
import { type Millis, millis } from "../../../core/ids.ts";
import type {
  SharedFile,
  SharedTransfer,
  SharingOrder,
  SharingPermission,
  SharingPlan,
  SharingReport,
  WrongBytes,
} from "../../../core/sharing.ts";
import type { Clock } from "../../../platform/clock.ts";

/** A file that this node is getting. */
export interface OwnTransfer {
  /** The first of its own. */
  readonly round: number;
  /** What the control plane last said of it; undefined: nothing yet on this connection. */
  order(): SharingOrder | undefined;
  update(news: Partial<Omit<SharedTransfer, "source">>): void;
  /** Called when the control plane has said something new, of this file or another. */
  onPlan(listener: () => void): () => void;
  end(): void;
}

interface ExchangeOptions {
  readonly clock: Clock;
  /** Whether a control plane has accepted this node now. */
  readonly isConnected: () => boolean;
  /** There is something new to report. */
  readonly changed: () => void;
  readonly onPermissions: (permissions: readonly SharingPermission[], now: Millis) => void;
  readonly onSuspects: (keys: readonly string[]) => void;
}

/** Long enough that a connection that was lost in between is back. */
const FIND_KEPT = millis(60_000);
/** Growing numbers are not worth a message each. */
const TELL_EVERY = millis(1_000);

/** What this node tells the control plane of the weights that it has and gets, and what it is told. */
export class Exchange {
  readonly #options: ExchangeOptions;
  readonly #transfers = new Map<string, SharedTransfer>();
  readonly #listeners = new Set<() => void>();
  #held: readonly SharedFile[] = [];
  #port = { port: 0, tls: false };
  #bytes = { origin: 0, peer: 0 };
  #finds: readonly WrongBytes[] = [];
  #orders = new Map<string, SharingOrder>();
  /** The last of each file. */
  readonly #rounds = new Map<string, number>();
  readonly #timers = new Set<() => void>();
  #isTelling = false;

  constructor(options: ExchangeOptions) {
    this.#options = options;
  }

  get isConnected(): boolean {
    return this.#options.isConnected();
  }

  get bytes(): { readonly origin: number; readonly peer: number } {
    return this.#bytes;
  }

  report(): SharingReport {
    return {
      ...this.#port,
      held: this.#held,
      transfers: [...this.#transfers.values()],
      originBytes: this.#bytes.origin,
      peerBytes: this.#bytes.peer,
      finds: this.#finds,
    };
  }

  take({ orders, permissions, suspects }: SharingPlan): void {
    this.#orders = new Map(orders.map((order) => [order.key, order]));
    this.#options.onPermissions(permissions, this.#options.clock.monotonic());
    if (suspects.length > 0) this.#options.onSuspects(suspects);
    for (const listener of [...this.#listeners]) listener();
  }

  /** What was said on a connection that is gone is not what holds now. */
  forget(): void {
    this.#orders.clear();
  }

  /** Nothing is told any more. */
  close(): void {
    for (const cancel of this.#timers) cancel();
    this.#timers.clear();
  }

  serveOn(port: { readonly port: number; readonly tls: boolean }): void {
    this.#port = port;
    this.#options.changed();
  }

  hold(held: readonly SharedFile[]): void {
    this.#held = held;
    this.#options.changed();
  }

  /** Bytes that came over the network. */
  count(kind: "origin" | "peer", bytes: number): void {
    this.#bytes = { ...this.#bytes, [kind]: this.#bytes[kind] + bytes };
  }

  /** A node gave wrong bytes of a file. */
  found(find: WrongBytes): void {
    this.#finds = [...this.#finds, find];
    this.#after(FIND_KEPT, () => {
      this.#finds = this.#finds.filter((one) => one !== find);
    });
    this.#options.changed();
  }

  begin(file: SharedFile, source: string): OwnTransfer {
    const { key } = file;
    // Permissions of an earlier transfer of the file may be used up.
    const round = (this.#rounds.get(key) ?? 0) + 1;
    this.#rounds.set(key, round);
    const begun: SharedTransfer = {
      file,
      source,
      doing: "waiting",
      done: 0,
      round,
      wrong: [],
      from: [],
      unreachable: [],
    };
    this.#transfers.set(key, begun);
    this.#options.changed();
    return {
      round,
      order: () => this.#orders.get(key),
      update: (news) => {
        const before = this.#transfers.get(key);
        if (before === undefined) return;
        const now = { ...before, ...news };
        this.#transfers.set(key, now);
        this.#rounds.set(key, now.round);
        if (canonicalJson({ ...before, done: now.done }) === canonicalJson(now)) this.#tellLater();
        else this.#options.changed();
      },
      onPlan: (listener) => {
        this.#listeners.add(listener);
        return () => this.#listeners.delete(listener);
      },
      end: () => {
        this.#transfers.delete(key);
        this.#options.changed();
      },
    };
  }

  #tellLater(): void {
    if (this.#isTelling) return;
    this.#isTelling = true;
    this.#after(TELL_EVERY, () => {
      this.#isTelling = false;
    });
  }

  /** Then there is something new to report. */
  #after(wait: Millis, change: () => void): void {
    const cancel = this.#options.clock.after(wait, () => {
      this.#timers.delete(cancel);
      change();
      this.#options.changed();
    });
    this.#timers.add(cancel);
  }
}
