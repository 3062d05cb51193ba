import { err, ok, type Result } from "../../core/result.ts";
import type { Downloader, FetchFailure } from "../../platform/fetch/download.ts";
import { readTextIfThere } from "../../platform/files.ts";
import { indexUrls, parsePipConfig, pipFiles, type PipSettings } from "./pip-config.ts";
import { INDEX_ACCEPT, type IndexFile, normalisedName, parseIndexPage } from "./simple-index.ts";

/** What an index offers for one project. */
export interface ProjectPage {
  readonly files: readonly IndexFile[];
  /** What the index's own host wants to be told to give a file; nothing for another host. */
  headersFor(url: string): Readonly<Record<string, string>>;
}

/** `message` is the end of a sentence that begins with what was looked for. */
export type PageFailure =
  | { readonly kind: "fetch"; readonly failure: FetchFailure }
  | { readonly kind: "no-address" | "not-found" | "auth" | "http"; readonly message: string };

interface Asking {
  readonly downloader: Pick<Downloader, "text">;
  readonly signal: AbortSignal;
}

/** The page of a project in an index of the simple kind. User and password of its address go into a header and no message. */
export async function readProjectPage(
  index: string,
  project: string,
  { downloader, signal }: Asking,
): Promise<Result<ProjectPage, PageFailure>> {
  const url = URL.parse(`${index.replace(/\/+$/, "")}/${normalisedName(project)}/`);
  if (url === null) return err({ kind: "no-address", message: "pip's configured index is not an address" });
  const { headersFor } = credentialsOf(url);
  url.username = "";
  url.password = "";
  const headers = { accept: INDEX_ACCEPT, ...headersFor(url.href) };
  const answer = await downloader.text({ url: url.href, headers, signal });
  if (!answer.ok) return err({ kind: "fetch", failure: answer.error });
  const { status, headers: answered, body, url: base } = answer.value;
  if (status === 404) return err({ kind: "not-found", message: `${url.host} has no such package` });
  if (status === 401 || status === 403) return err({ kind: "auth", message: `${url.host} answered ${String(status)}` });
  const files = status === 200 ? parseIndexPage(body, answered["content-type"] ?? "", base) : undefined;
  if (files === undefined) {
    return err({ kind: "http", message: `${url.host} answered ${String(status)} and no index page` });
  }
  return ok({ files, headersFor });
}

/** What user and password in the address become: a header for its own host and for no other. */
export function credentialsOf({ username, password, origin }: URL): Pick<ProjectPage, "headersFor"> {
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  const headers = pair === ":" ? {} : { authorization: `Basic ${Buffer.from(pair).toString("base64")}` };
  return { headersFor: (file) => (URL.parse(file)?.origin === origin ? headers : {}) };
}

/** The indexes that pip would ask on this machine, the main one first. */
export async function pipIndexes(env: Readonly<Record<string, string | undefined>>): Promise<readonly string[]> {
  return indexUrls(env, await Promise.all(pipFiles(env).map(readPipFile)));
}

async function readPipFile(path: string): Promise<PipSettings> {
  // A file that this user may not read says nothing, as it does for pip.
  return parsePipConfig((await readTextIfThere(path).catch(() => undefined)) ?? "");
}
