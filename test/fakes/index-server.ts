import { createHash } from "node:crypto";
import { type FileServer, serveContent, startFileServer } from "./file-server.ts";

export interface IndexedWheel {
  readonly name: string;
  readonly data: Buffer;
  readonly isYanked?: boolean;
  /** What the index says of the hash, if not the truth. */
  readonly sha256?: string;
}

export interface IndexServer {
  /** pip's --index-url. */
  readonly url: string;
  readonly index: FileServer;
  /** Another host, where the files are. */
  readonly files: FileServer;
  close(): Promise<void>;
}

/** A stand-in for a package index: the simple API in its JSON form or in HTML, its files on another host as with the real one. */
export async function startIndex(
  projects: Readonly<Record<string, readonly IndexedWheel[]>>,
  options: { readonly isHtml?: boolean; readonly login?: string } = {},
): Promise<IndexServer> {
  const all = Object.values(projects).flat();
  const files = await startFileServer((request, response) => {
    const wheel = all.find(({ name }) => request.url === `/packages/${name}`);
    if (wheel === undefined) response.writeHead(404).end();
    else serveContent(request, response, { bytes: wheel.data, etag: `"${wheel.name}"` });
  });
  const index = await startFileServer((request, response) => {
    const project = /^\/simple\/([^/]+)\/$/.exec(request.url ?? "")?.[1] ?? "";
    const wheels = projects[project];
    const login = options.login === undefined ? undefined : `Basic ${Buffer.from(options.login).toString("base64")}`;
    if (login !== undefined && request.headers.authorization !== login) response.writeHead(401).end();
    else if (wheels === undefined) response.writeHead(404).end();
    else if (options.isHtml === true) response.setHeader("content-type", "text/html").end(html(wheels, files.origin));
    else response.setHeader("content-type", "application/vnd.pypi.simple.v1+json").end(json(wheels, files.origin));
  });
  return {
    url: `${index.origin}/simple`,
    index,
    files,
    async close() {
      await Promise.all([index.close(), files.close()]);
    },
  };
}

const hashOf = ({ data, sha256 }: IndexedWheel): string => sha256 ?? createHash("sha256").update(data).digest("hex");

const json = (wheels: readonly IndexedWheel[], origin: string): string =>
  JSON.stringify({
    meta: { "api-version": "1.1" },
    files: wheels.map((wheel) => ({
      filename: wheel.name,
      url: `${origin}/packages/${wheel.name}`,
      hashes: { sha256: hashOf(wheel) },
      size: wheel.data.length,
      yanked: wheel.isYanked === true ? "broken" : false,
    })),
  });

const html = (wheels: readonly IndexedWheel[], origin: string): string =>
  `<!DOCTYPE html><html><body>${wheels
    .map((wheel) => {
      const yanked = wheel.isYanked === true ? ' data-yanked="broken"' : "";
      const href = `${origin}/packages/${wheel.name}#sha256=${hashOf(wheel)}`;
      return `<a href="${href}" data-requires-python="&gt;=3.9"${yanked}>${wheel.name}</a><br/>`;
    })
    .join("\n")}</body></html>`;
