import type { z } from "zod";
import type { Alias } from "../core/alias.ts";
import { nearest } from "../core/nearest.ts";
import type { Profile } from "../core/profile.ts";
import { err, ok, type Result } from "../core/result.ts";
import type { Upstream } from "../core/upstream.ts";
import { aliasSchema, profileSchema, upstreamSchema } from "./manifest-schema.ts";
import { normaliseAlias } from "./alias.ts";
import { acrossDocuments, aliasRules, type DraftDocument, profileRules } from "./manifest-rules.ts";
import { type ConfigProblem, type DeepReadonly } from "./problem.ts";
import { normaliseProfile } from "./profile.ts";
import { asProblems, readDocument, readTrees } from "./reader.ts";
import { type Found, locate, TOP, type Tree } from "./tree.ts";
import { namesIn, normaliseUpstream, upstreamRules } from "./upstream.ts";

type Written<S extends z.ZodType> = DeepReadonly<z.output<S>>;

/** One document of a manifest. */
export type ManifestObject =
  | { readonly kind: "Profile"; readonly profile: Profile }
  | { readonly kind: "Alias"; readonly alias: Alias }
  | { readonly kind: "Upstream"; readonly upstream: Upstream };

interface Draft extends DraftDocument {
  readonly found: readonly Found[];
  /** Only to be called when nothing was found in the whole file. */
  readonly finish: () => ManifestObject;
}

// Manifests travel to the control plane: what surrounds the writer is not what surrounds the reader.
const AS_WRITTEN = { env: undefined, readSecret: undefined } as const;

type Read = (tree: Tree, partial: boolean) => Omit<Draft, "file">;

const KINDS: Readonly<Record<ManifestObject["kind"], Read>> = {
  Profile(tree, partial) {
    const { value, found } = readDocument({ schema: profileSchema, rules: profileRules }, tree, {
      ...AS_WRITTEN,
      partial,
    });
    const { name, serves = [name] } = value;
    const finish = (): ManifestObject => ({
      kind: "Profile",
      profile: normaliseProfile(value as Written<typeof profileSchema>),
    });
    const names = [...serves, ...Object.keys(value.adapters ?? {})];
    return { tree, kind: "Profile", name, serves: names, found, finish };
  },
  Alias(tree, partial) {
    const { value, found } = readDocument({ schema: aliasSchema, rules: aliasRules }, tree, { ...AS_WRITTEN, partial });
    const finish = (): ManifestObject => ({
      kind: "Alias",
      alias: normaliseAlias(value as Written<typeof aliasSchema>),
    });
    return { tree, kind: "Alias", name: value.name, serves: [value.name], found, finish };
  },
  Upstream(tree, partial) {
    const { value, found } = readDocument({ schema: upstreamSchema, rules: upstreamRules }, tree, {
      ...AS_WRITTEN,
      partial,
    });
    const finish = (): ManifestObject => ({
      kind: "Upstream",
      upstream: normaliseUpstream(value as Written<typeof upstreamSchema>),
    });
    return { tree, kind: "Upstream", name: value.name, serves: namesIn(value.models), found, finish };
  },
};

/** A manifest before it is read. */
export interface ManifestText {
  readonly text: string | Uint8Array;
  /** For messages. */
  readonly fileName: string;
}

/** Reads one manifest; see {@link parseManifests}. */
export const parseManifest = (
  text: string | Uint8Array,
  fileName: string,
): Result<readonly ManifestObject[], readonly ConfigProblem[]> => parseManifests([{ text, fileName }]);

/**
 * Reads manifests that belong together: one object a YAML document. Every problem of every file comes back at once, file by
 * file and in the order of each.
 */
export function parseManifests(
  files: readonly ManifestText[],
): Result<readonly ManifestObject[], readonly ConfigProblem[]> {
  const read = files.map(readFile);
  const drafts = read.flatMap((file) => file.drafts);
  const across = acrossDocuments(drafts);
  const problems = read.flatMap(({ fileName, found, drafts: own }) => {
    const between = across.filter(({ document }) => own.some((draft) => draft === drafts[document]));
    return asProblems(fileName, [...found, ...between.map((one) => one.found)]);
  });
  return problems.length > 0 ? err(problems) : ok(drafts.map(({ finish }) => finish()));
}

interface ReadFile {
  readonly fileName: string;
  readonly drafts: readonly Draft[];
  readonly found: readonly Found[];
}

function readFile({ text, fileName }: ManifestText): ReadFile {
  const { trees, partial, found } = readTrees(text);
  if (trees.length === 0 && found.length === 0) {
    const empty = { at: TOP, path: [], message: "the file holds no document", hint: FIRST_LINE };
    return { fileName, drafts: [], found: [empty] };
  }
  const read = trees.map((tree) => readObject(tree, partial));
  const drafts = read.flatMap((one) => (one.ok ? [{ ...one.value, file: fileName }] : []));
  return {
    fileName,
    drafts,
    found: [...found, ...read.flatMap((one) => (one.ok ? one.value.found : [one.error]))],
  };
}

const FIRST_LINE = `a document begins with kind: ${Object.keys(KINDS).join(" or ")}`;

function readObject(tree: Tree, partial: boolean): Result<Omit<Draft, "file">, Found> {
  const words = Object.keys(KINDS);
  const problem = (message: string, hint = ""): Result<never, Found> =>
    err({ at: locate(tree, ["kind"]), path: ["kind"], message, hint });
  if (tree.kind !== "map") return problem("a document must be a map of keys", FIRST_LINE);
  const written = tree.entries.find(({ key }) => key === "kind")?.value;
  if (written === undefined) return problem("kind is missing", FIRST_LINE);
  const word = written.kind === "scalar" ? String(written.value) : "";
  if (isKind(word)) return ok(KINDS[word](tree, partial));
  const meant = nearest(word, words);
  return problem(
    `kind must be ${words.join(", ")}, but is "${word}"`,
    meant === undefined ? "" : `did you mean ${meant}?`,
  );
}

const isKind = (word: string): word is ManifestObject["kind"] => Object.hasOwn(KINDS, word);
