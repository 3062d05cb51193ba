import { createHash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { type FileServer, serveContent, startFileServer } from "./file-server.ts";

export interface HubFile {
  readonly data: Buffer;
  /** A large file: its bytes are on the other host, and its sha256 is published. Otherwise it is answered at once, with git's hash. */
  readonly isLarge: boolean;
  /** What the listing says of its size, if not the truth. */
  readonly size?: number;
}

export interface HubRepo {
  readonly commit: string;
  readonly files: Readonly<Record<string, HubFile>>;
  /** Only who sends this token may read it. */
  readonly token?: string;
  readonly isGated?: boolean;
}

export interface HubServer {
  readonly endpoint: string;
  /** The hub's own host. */
  readonly hub: FileServer;
  /** The host that the bytes of large files come from. */
  readonly cdn: FileServer;
  /** Repositories by ORG/NAME; may be changed while it runs. */
  readonly repos: Record<string, HubRepo>;
  close(): Promise<void>;
}

const PAGE = 2;
const sha = (algorithm: string, data: Buffer): string => createHash(algorithm).update(data).digest("hex");

/**
 * A stand-in for a model hub: it speaks the real one's protocol (description, paged tree, resolve with X-Linked-* headers and
 * a redirect to another host with an address that is signed), and nothing more.
 */
export async function startHub(repos: Record<string, HubRepo>): Promise<HubServer> {
  const cdn = await startFileServer((request, response) => {
    const url = new URL(request.url ?? "/", "http://cdn");
    const data = Object.values(repos)
      .flatMap(({ files }) => Object.values(files))
      .find((file) => `/blobs/${sha("sha256", file.data)}` === url.pathname)?.data;
    if (data === undefined || url.searchParams.get("Signature") !== "good") response.writeHead(403).end("<Error/>");
    else serveContent(request, response, { bytes: data, etag: `"cdn-${sha("md5", data)}"` });
  });
  const hub = await startFileServer((request, response) => {
    answer(request, response, { repos, cdn: cdn.origin });
  });
  return {
    endpoint: hub.origin,
    hub,
    cdn,
    repos,
    async close() {
      await Promise.all([hub.close(), cdn.close()]);
    },
  };
}

interface State {
  readonly repos: Readonly<Record<string, HubRepo>>;
  readonly cdn: string;
}

interface Route {
  readonly repo: string;
  readonly kind: "describe" | "tree" | "file";
  readonly revision: string | undefined;
  readonly file: string;
}

function readRoute(path: string): Route {
  const [, apiRepo, verb, apiRevision] =
    /^\/api\/models\/([^/]+\/[^/]+)(?:\/(revision|tree)\/([^/]+))?$/.exec(path) ?? [];
  if (apiRepo !== undefined) {
    return { repo: apiRepo, kind: verb === "tree" ? "tree" : "describe", revision: apiRevision, file: "" };
  }
  const [, repo = "", revision, file = ""] = /^\/([^/]+\/[^/]+)\/resolve\/([^/]+)\/(.+)$/.exec(path) ?? [];
  return { repo, kind: "file", revision, file: decodeURIComponent(file) };
}

function answer(request: IncomingMessage, response: ServerResponse, state: State): void {
  const url = new URL(request.url ?? "/", "http://hub");
  const route = readRoute(url.pathname);
  const repo = state.repos[route.repo];
  const isAllowed = repo?.token === undefined || request.headers.authorization === `Bearer ${repo.token}`;
  if (repo === undefined || !isAllowed) {
    refuse(response, repo);
  } else if (![repo.commit, "main", undefined].includes(route.revision)) {
    noSuchRevision(response);
  } else if (route.kind === "file") {
    resolveFile(request, response, { repo, name: route.file, cdn: state.cdn });
  } else if (route.kind === "tree") {
    tree(response, repo, url);
  } else {
    describe(response, repo, route.repo);
  }
}

function refuse(response: ServerResponse, repo: HubRepo | undefined): void {
  const code = repo?.isGated === true ? "GatedRepo" : "RepoNotFound";
  response.writeHead(repo?.isGated === true ? 403 : 401, { "x-error-code": code, "content-type": "application/json" });
  response.end('{"error":"Access to model is restricted"}');
}

function noSuchRevision(response: ServerResponse): void {
  response.writeHead(404, { "x-error-code": "RevisionNotFound" }).end('{"error":"Invalid rev id"}');
}

function describe(response: ServerResponse, repo: HubRepo, name: string): void {
  const siblings = Object.keys(repo.files).map((rfilename) => ({ rfilename }));
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify({ id: name, sha: repo.commit, gated: repo.isGated === true, private: false, siblings }));
}

function tree(response: ServerResponse, repo: HubRepo, url: URL): void {
  const entries = Object.entries(repo.files).map(([path, { data, isLarge, size = data.length }]) => ({
    type: "file",
    path,
    size,
    oid: sha("sha1", data),
    ...(isLarge ? { lfs: { oid: sha("sha256", data), size, pointerSize: 134 } } : {}),
  }));
  const start = Number(url.searchParams.get("cursor") ?? "0");
  const next = start + PAGE;
  if (next < entries.length) {
    const more = new URL(url);
    more.searchParams.set("cursor", String(next));
    response.setHeader("link", `<${more.pathname}${more.search}>; rel="next"`);
  }
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify([{ type: "directory", path: "sub" }, ...entries.slice(start, next)]));
}

function resolveFile(
  request: IncomingMessage,
  response: ServerResponse,
  { repo, name, cdn }: { readonly repo: HubRepo; readonly name: string; readonly cdn: string },
): void {
  const file = repo.files[name];
  response.setHeader("x-repo-commit", repo.commit);
  if (file === undefined) {
    response.writeHead(404, { "x-error-code": "EntryNotFound" }).end("Entry not found");
    return;
  }
  if (!file.isLarge) {
    serveContent(request, response, { bytes: file.data, etag: `"${sha("sha1", file.data)}"` });
    return;
  }
  const sha256 = sha("sha256", file.data);
  response.writeHead(302, {
    location: `${cdn}/blobs/${sha256}?Signature=good`,
    "x-linked-etag": `"${sha256}"`,
    "x-linked-size": String(file.data.length),
    "x-xet-hash": sha("sha256", Buffer.from(sha256)),
  });
  response.end();
}
