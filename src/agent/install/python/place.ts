import { fileURLToPath } from "node:url";
import { credentialsOf, pipIndexes } from "../../python-index/project-page.ts";

/** Where packages come from. */
export type Place =
  /** The first index is the main one; the others are asked before it. Addresses may hold passwords. */
  | { readonly kind: "index"; readonly main: string; readonly others: readonly string[]; readonly isOwn: boolean }
  /** A folder of wheels on this node: nothing is asked of the network. */
  | { readonly kind: "folder"; readonly path: string };

type Env = Readonly<Record<string, string | undefined>>;

/** Stands in a mirror's address or folder for the builds that a node's driver runs. */
const BACKEND = /\{backend\}|%7Bbackend%7D/gi;

/** What `engines.*.source` names, on a node that runs builds for the backend. */
export async function placeOf(source: string, backend: string, env: Env): Promise<Place> {
  if (source === "pypi") return await ownIndex(env);
  const named = source.replace(BACKEND, backend);
  if (named.startsWith("file:")) return { kind: "folder", path: fileURLToPath(named) };
  if (named.startsWith("/")) return { kind: "folder", path: named };
  return { kind: "index", main: named, others: [], isOwn: false };
}

/** The index that this machine's own tools ask: uv's variables before pip's and pip's files. */
async function ownIndex(env: Env): Promise<Place> {
  const named = [env["UV_DEFAULT_INDEX"], env["UV_INDEX_URL"]].find((url) => url !== undefined && url.trim() !== "");
  const [main = "", ...others] = await pipIndexes(env);
  if (named === undefined) return { kind: "index", main, others, isOwn: true };
  const further = (env["UV_INDEX"] ?? env["UV_EXTRA_INDEX_URL"] ?? "").split(/\s+/).filter((url) => url !== "");
  return { kind: "index", main: named.trim(), others: further, isOwn: true };
}

/** As uv takes it: arguments without secrets, and addresses in the environment. */
export function uvPlace(
  place: Place,
  first: readonly string[] = [],
): { readonly args: readonly string[]; readonly env: Readonly<Record<string, string>> } {
  if (place.kind === "folder") return { args: ["--no-index", "--find-links", place.path], env: {} };
  const others = [...first, ...place.others].join(" ");
  return { args: [], env: { UV_DEFAULT_INDEX: place.main, ...(others === "" ? {} : { UV_INDEX: others }) } };
}

/** What the place's own hosts want to be told to give a file. */
export function headersOf(place: Place): (url: string) => Readonly<Record<string, string>> {
  if (place.kind === "folder") return () => ({});
  const known = [place.main, ...place.others].flatMap((index) => URL.parse(index) ?? []).map(credentialsOf);
  return (url) => Object.assign({}, ...known.map(({ headersFor }) => headersFor(url))) as Record<string, string>;
}

/** For people. */
export function placeName(place: Place): string {
  if (place.kind === "folder") return place.path;
  return URL.parse(place.main)?.host ?? "the configured index";
}
