import type { ModelSource } from "../../core/source.ts";
import { normalisedName } from "../python-index/simple-index.ts";

/** What of a source decides which folder can serve it. Which file of it is named does not: a folder offers them all. */
export function identityOf(source: ModelSource): string {
  switch (source.kind) {
    case "hf":
      return `hf:${source.repo}@${source.revision ?? ""}`;
    case "https":
      return source.url;
    case "pypi":
      return `pypi:${normalisedName(source.project)}/${source.path}`;
    case "file":
    case "dir":
      return `${source.kind}:${source.path}`;
    case "tiny":
      return "tiny:";
  }
}

/** The file that the source names; undefined leaves the choice to the engine. */
export function namedFile(source: ModelSource): string | undefined {
  switch (source.kind) {
    case "hf":
    case "https":
      return source.file;
    case "pypi":
      return source.path.slice(source.path.lastIndexOf("/") + 1).replace(/@\d[^/@]*$/, "");
    case "file":
      return source.path.slice(source.path.lastIndexOf("/") + 1);
    case "dir":
    case "tiny":
      return undefined;
  }
}
