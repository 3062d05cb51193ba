import type { HeaderValues } from "../../../platform/fetch/answer.ts";
import { type Fields, fieldsOf, isList, listOf, parseJson } from "../../../wire/json-value.ts";
import { lasting, passing, type WeightFailure } from "../failure.ts";
import { isSafeName, type RemoteFile } from "../offer.ts";

/** Each part of a path encoded for itself, so that the slashes stay. */
const encodePath = (path: string): string => path.split("/").map(encodeURIComponent).join("/");

export const infoUrl = (endpoint: string, repo: string, revision: string | undefined): string =>
  `${endpoint}/api/models/${repo}${revision === undefined ? "" : `/revision/${encodeURIComponent(revision)}`}`;

export const treeUrl = (endpoint: string, repo: string, commit: string): string =>
  `${endpoint}/api/models/${repo}/tree/${encodeURIComponent(commit)}?recursive=true`;

export const fileUrl = (
  endpoint: string,
  repo: string,
  at: { readonly commit: string; readonly file: string },
): string => `${endpoint}/${repo}/resolve/${encodeURIComponent(at.commit)}/${encodePath(at.file)}`;

const asText = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);
const asSize = (value: unknown): number => (typeof value === "number" && value > 0 ? value : 0);

export interface RepoInfo {
  /** What the branch is now: every file is taken from this one commit. */
  readonly commit: string;
  /** Without sizes and hashes, unless the answer had them. */
  readonly files: readonly RemoteFile[];
}

export function parseInfo(body: string): RepoInfo | undefined {
  const raw = fieldsOf(parseJson(body));
  const commit = asText(raw["sha"]);
  if (commit === undefined || !/^[0-9a-zA-Z._-]+$/.test(commit)) return undefined;
  const files = listOf(raw["siblings"]).flatMap((sibling) => remoteFile(fieldsOf(sibling), "rfilename"));
  return { commit, files };
}

/** One page of the listing; folders are left out, and so are names that could lead out of a folder. */
export function parseTree(body: string): readonly RemoteFile[] | undefined {
  const raw = parseJson(body);
  if (!isList(raw)) return undefined;
  return raw.map(fieldsOf).flatMap((entry) => (entry["type"] === "file" ? remoteFile(entry, "path") : []));
}

function remoteFile(entry: Fields, nameField: string): readonly RemoteFile[] {
  const name = asText(entry[nameField]);
  if (name === undefined || !isSafeName(name)) return [];
  const lfs = fieldsOf(entry["lfs"]);
  const sha256 = asHash(asText(lfs["oid"]) ?? asText(lfs["sha256"]));
  // A large file's own entry may have the size of the pointer to it.
  return [{ name, bytes: asSize(lfs["size"]) || asSize(entry["size"]), sha256 }];
}

/** 64 hex digits are the sha256 of the file; the 40 of a small file are git's own, of something else. */
export function asHash(etag: string | undefined): string | undefined {
  const bare = etag
    ?.replace(/^W\//, "")
    .replace(/^"(.*)"$/, "$1")
    .replace(/^sha256:/, "")
    .toLowerCase();
  return bare !== undefined && /^[0-9a-f]{64}$/.test(bare) ? bare : undefined;
}

/** What the answer to HEAD on a file says of it. X-Linked-* speak of the file itself, the others perhaps of a pointer. */
export function readFileHead(headers: HeaderValues): { readonly bytes: number; readonly sha256: string | undefined } {
  const size = headers["x-linked-size"] ?? headers["content-length"];
  return {
    bytes: size !== undefined && /^\d+$/.test(size) ? Number(size) : 0,
    sha256: asHash(headers["x-linked-etag"] ?? headers["etag"]),
  };
}

/** The next page's address, from the Link header. */
export function nextPage(headers: HeaderValues, base: string): string | undefined {
  const link = /<([^>]+)>\s*;[^,]*\brel="?next"?/.exec(headers["link"] ?? "")?.[1];
  return link === undefined ? undefined : (URL.parse(link, base)?.href ?? undefined);
}

export interface Asked {
  readonly repo: string;
  readonly revision: string | undefined;
  readonly endpoint: string;
  readonly hasToken: boolean;
}

/** What an answer that is no listing means for the one who named the repository. The token is never in it. */
export function hubFailure(status: number, headers: HeaderValues, asked: Asked): WeightFailure {
  const { repo, endpoint } = asked;
  const code = headers["x-error-code"];
  if (code === "RevisionNotFound") {
    return lasting("not-found", `hf:${repo}: there is no revision ${asked.revision ?? "main"}`);
  }
  if (code === "GatedRepo" || status === 403) return restricted(status, asked);
  if (status === 401) return lasting("auth", `hf:${repo}: there is no such repository, or ${mayNotRead(asked)}`);
  if (status === 404) {
    const what = `hf:${repo}: there is no such repository or revision at ${endpoint}`;
    return lasting("not-found", `${what}, or ${mayNotRead(asked)}`);
  }
  return passing("http", `hf:${repo}: ${endpoint} answered ${String(status)}`);
}

function restricted(status: number, { repo, endpoint, hasToken }: Asked): WeightFailure {
  const accept = `accept its terms at ${endpoint}/${repo}`;
  const how = hasToken ? `${accept} with the account of the token` : `${accept} and give the node a token in HF_TOKEN`;
  return lasting("auth", `hf:${repo}: access is restricted (${String(status)}); ${how}`);
}

const mayNotRead = ({ hasToken }: Asked): string =>
  hasToken ? "the token in HF_TOKEN may not read it" : "it is private: then give the node a token in HF_TOKEN";
