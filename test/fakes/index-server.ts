import { createHash } from "node:crypto";
import { type FileServer, serveContent, startFileServer } from "./file-server.ts";

export interface IndexedWheel {
  readonly name: string;
  readonly data: Buffer;
  readonly isYanked?: boolean;
  /** What the index says of the hash, if not the truth. */
  readonly sha256?: string;
  readonly requiresPython?: string;
}

export interface IndexServer {
  /** pip's --index-url. */
  readonly url: string;
  readonly index: FileServer;
  /** Another host, where the files are. */
  readonly files: FileServer;
  close(): Promise<void>;
}

interface IndexOptions {
  readonly isHtml?: boolean;
  readonly login?: string;
}

/** A stand-in for a package index: the simple API in its JSON form or in HTML, its files on another host as with the real one. */
export async function startIndex(projects: Projects, options: IndexOptions = {}): Promise<IndexServer> {
  const files = await startFileServer((request, response) => {
    const wheel = Object.values(projects)
      .flat()
      .find(({ name }) => request.url === `/packages/${name}`);
    if (wheel === undefined) response.writeHead(404).end();
    else serveContent(request, response, { bytes: wheel.data, etag: `"${wheel.name}"` });
  });
  const index = await startFileServer((request, response) => {
    const wheels = askedFor(request.url ?? "", projects);
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

/** A folder before the simple API may have a page of its own for a project: `FOLDER/PROJECT`. */
function askedFor(path: string, projects: Projects): readonly IndexedWheel[] | undefined {
  const [, folder, project = ""] = /^\/(?:([^/]+)\/)?simple\/([^/]+)\/$/.exec(path) ?? [];
  return (folder === undefined ? undefined : projects[`${folder}/${project}`]) ?? projects[project];
}

type Projects = Readonly<Record<string, readonly IndexedWheel[]>>;

const hashOf = ({ data, sha256 }: IndexedWheel): string => sha256 ?? createHash("sha256").update(data).digest("hex");

const json = (wheels: readonly IndexedWheel[], origin: string): string =>
  JSON.stringify({
    meta: { "api-version": "1.1" },
    files: wheels.map((wheel) => ({
      filename: wheel.name,
      url: `${origin}/packages/${wheel.name}`,
      hashes: { sha256: hashOf(wheel) },
      size: wheel.data.length,
      ...(wheel.requiresPython === undefined ? {} : { "requires-python": wheel.requiresPython }),
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
