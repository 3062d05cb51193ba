import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Archive } from "./engine-archive.ts";

export interface ServedRequest {
  readonly path: string;
  readonly authorization: string | undefined;
}

export interface PublishedRelease {
  readonly tag: string;
  /** By the name of the file. An undefined archive is one that is still being uploaded. */
  readonly assets: Readonly<Record<string, Archive | undefined>>;
  /** Announced instead of the archive's own. */
  readonly digest?: string | null;
}

/** Answers in place of everything else when it returns true. */
export type Interception = (request: IncomingMessage, response: ServerResponse) => boolean;

/** Speaks GitHub's releases API, serves the files from an address of their own, and is a mirror below /mirror/. */
export class ReleaseServer {
  readonly apiRequests: ServedRequest[] = [];
  readonly fileRequests: ServedRequest[] = [];
  releases: readonly PublishedRelease[] = [];
  interceptApi: Interception = () => false;
  interceptFile: Interception = () => false;
  readonly #api = createServer((request, response) => {
    this.apiRequests.push(seen(request));
    if (!this.interceptApi(request, response)) this.#answerApi(request, response);
  });
  readonly #files = createServer((request, response) => {
    this.fileRequests.push(seen(request));
    if (!this.interceptFile(request, response)) this.#answerFile(request, response);
  });

  /** Forgets what was asked and what was to be answered. */
  reset(): void {
    this.apiRequests.length = 0;
    this.fileRequests.length = 0;
    this.releases = [];
    this.interceptApi = this.interceptFile = () => false;
  }

  async start(): Promise<void> {
    await Promise.all([this.#api, this.#files].map((server) => listen(server)));
  }

  async stop(): Promise<void> {
    await Promise.all([this.#api, this.#files].map((server) => close(server)));
  }

  get api(): string {
    return addressOf(this.#api);
  }

  get mirror(): string {
    return `${addressOf(this.#files)}/mirror`;
  }

  #answerApi(request: IncomingMessage, response: ServerResponse): void {
    const url = new URL(request.url ?? "/", this.api);
    const base = "/repos/ggml-org/llama.cpp/releases";
    if (url.pathname === base)
      json(
        response,
        200,
        this.releases.map((release) => this.#describe(release)),
      );
    const tag = url.pathname.startsWith(`${base}/tags/`) ? url.pathname.slice(`${base}/tags/`.length) : undefined;
    const release = this.releases.find((one) => one.tag === tag);
    if (release !== undefined) json(response, 200, this.#describe(release));
    if (!response.writableEnded) json(response, 404, { message: "Not Found" });
  }

  #describe({ tag, assets, digest }: PublishedRelease): unknown {
    return {
      tag_name: tag,
      draft: false,
      prerelease: true,
      assets: Object.entries(assets).map(([name, archive]) => ({
        name,
        browser_download_url: `${addressOf(this.#files)}/download/${tag}/${name}`,
        size: archive?.bytes.length ?? 0,
        state: archive === undefined ? "starter" : "uploaded",
        digest: digest === undefined ? `sha256:${archive?.sha256 ?? ""}` : digest,
      })),
    };
  }

  #answerFile(request: IncomingMessage, response: ServerResponse): void {
    const path = new URL(request.url ?? "/", this.mirror).pathname;
    const name = path.slice(path.lastIndexOf("/") + 1);
    const archive = this.releases.flatMap((release) => release.assets[name] ?? [])[0];
    if (path === "/mirror/SHA256SUMS") text(response, this.#sums());
    else if (archive === undefined) json(response, 404, { message: "Not Found" });
    else sendBytes(request, response, archive.bytes);
  }

  #sums(): string {
    const assets = this.releases.flatMap((release) => Object.entries(release.assets));
    return assets.map(([name, archive]) => `${archive?.sha256 ?? ""}  ${name}\n`).join("");
  }
}

/** Whole or the range that was asked for. */
export function sendBytes(request: IncomingMessage, response: ServerResponse, bytes: Buffer): void {
  const [, from, to] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? "") ?? [];
  const first = Number(from ?? 0);
  const last = to === undefined || to === "" ? bytes.length - 1 : Math.min(Number(to), bytes.length - 1);
  const part = bytes.subarray(first, last + 1);
  const headers = { "accept-ranges": "bytes", "content-length": part.length, etag: '"1"' };
  if (from === undefined) response.writeHead(200, headers);
  else
    response.writeHead(206, { ...headers, "content-range": `bytes ${from}-${String(last)}/${String(bytes.length)}` });
  response.end(request.method === "HEAD" ? undefined : part);
}

const seen = ({ url, headers }: IncomingMessage): ServedRequest => ({
  path: url ?? "",
  authorization: headers.authorization,
});

function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}

function text(response: ServerResponse, body: string): void {
  response.writeHead(200, { "content-type": "text/plain" });
  response.end(body);
}

const addressOf = (server: Server): string => `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;

const listen = (server: Server): Promise<void> =>
  new Promise((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });

const close = (server: Server): Promise<void> =>
  new Promise((resolve) => {
    server.closeAllConnections();
    server.close(() => {
      resolve();
    });
  });
