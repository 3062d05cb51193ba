import type { z } from "zod";
import type { Loose } from "./check.ts";
import type { aliasSchema, profileSchema } from "./manifest-schema.ts";
import { repeated } from "./overlap.ts";
import { split } from "./profile.ts";
import type { Violation } from "./reader.ts";
import { type Found, locate, TOP, type Tree } from "./tree.ts";

type LooseProfile = Loose<z.output<typeof profileSchema>>;
type LooseAlias = Loose<z.output<typeof aliasSchema>>;

/** A document as far as it could be read, with its place. */
export interface DraftDocument {
  readonly file: string;
  readonly tree: Tree;
  readonly kind: "Profile" | "Alias" | "Upstream";
  readonly name: string | undefined;
  /** The model names that it claims for itself. */
  readonly serves: readonly (string | undefined)[];
}

/** What must hold between the keys of a profile. */
export const profileRules = (profile: LooseProfile): readonly Violation[] => [
  ...servesOnce(profile),
  ...adaptersAreOthers(profile),
  ...gpusAddUp(profile),
  ...ranksHaveGpus(profile),
  ...rangeIsOne(profile),
  ...changeCanProceed(profile),
];

const servesOnce = ({ serves = [] }: LooseProfile): readonly Violation[] =>
  repeated(serves).map(({ index, value }) => ({ path: ["serves", index], message: `serves holds ${value} twice` }));

/** A name leads to the model or to an adapter of it. */
function adaptersAreOthers({ name, serves = [name], adapters = {} }: LooseProfile): readonly Violation[] {
  return Object.keys(adapters)
    .filter((adapter) => serves.includes(adapter))
    .map((adapter) => ({
      path: ["adapters", adapter],
      message: `the adapter ${adapter} has a name that the profile's model is served under`,
      hint: "give it another",
    }));
}

function gpusAddUp({ resources, parallel }: LooseProfile): readonly Violation[] {
  const nodes = resources?.nodes;
  if (nodes === undefined || parallel === undefined) return [];
  const written = { nodes, gpus: resources?.gpus };
  const { tensor, pipeline, gpus } = split({ resources: written, parallel });
  if (gpus === undefined) return [];
  const [ways, all] = [tensor * pipeline, Math.max(1, gpus * nodes)];
  if (ways === all) return [];
  const sum = `tensor × pipeline (${String(tensor)} × ${String(pipeline)} = ${String(ways)})`;
  const message = `parallel does not fit resources: ${sum} must equal gpus × nodes (${String(gpus)} × ${String(nodes)} = ${String(all)})`;
  return [{ path: ["parallel"], message, hint: "leave parallel out to have it filled in" }];
}

/** Ranks meet over what connects their GPUs. */
function ranksHaveGpus({ resources, parallel }: LooseProfile): readonly Violation[] {
  const nodes = resources?.nodes;
  if (nodes === undefined || nodes === 1 || parallel === undefined) return [];
  const { gpus = 0 } = split({ resources: { nodes, gpus: resources?.gpus }, parallel });
  if (gpus > 0) return [];
  const message = `a replica over ${String(nodes)} nodes needs GPUs on each of them`;
  return [{ path: ["resources"], message, hint: "set resources.gpus, or parallel" }];
}

function rangeIsOne({ replicas }: LooseProfile): readonly Violation[] {
  if (typeof replicas !== "object") return [];
  const { min, max } = replicas;
  if (min === undefined || max === undefined || min <= max) return [];
  return [
    { path: ["replicas", "min"], message: `replicas.min (${String(min)}) is more than replicas.max (${String(max)})` },
  ];
}

function changeCanProceed({ rollout }: LooseProfile): readonly Violation[] {
  if (rollout?.surge !== 0 || rollout.unavailable !== 0) return [];
  const message = "rollout.surge and rollout.unavailable are both 0, so no change could ever be carried out";
  return [{ path: ["rollout"], message, hint: "set one of them to 1" }];
}

/** What must hold between the keys of an alias. */
export function aliasRules({ targets = [], fallback = [] }: LooseAlias): readonly Violation[] {
  const twice = repeated(targets.map((target) => target?.profile)).map(({ index, value }) => ({
    path: ["targets", index, "profile"],
    message: `targets holds ${value} twice`,
  }));
  const again = repeated(fallback).map(({ index, value }) => ({
    path: ["fallback", index],
    message: `fallback holds ${value} twice`,
  }));
  const weights = targets.map((target) => target?.weight);
  const idle = weights.length > 0 && weights.every((weight) => weight === 0);
  const nobody = { path: ["targets"], message: "every target has the weight 0, so nobody would answer" };
  return [...twice, ...again, ...(idle ? [nobody] : [])];
}

/** A problem of the document at that place of the list. */
export interface FoundIn {
  readonly document: number;
  readonly found: Found;
}

/** What must hold between the documents of all files: names are there once, and a model name leads to one place. */
export function acrossDocuments(drafts: readonly DraftDocument[]): readonly FoundIn[] {
  const names = drafts.map(({ kind, name }) => (name === undefined ? undefined : `${kind} ${name}`));
  const twice = repeated(names).map(({ index, value }): FoundIn => {
    const first = drafts[names.indexOf(value)];
    const where =
      first?.file === drafts[index]?.file ? "is there twice in this file" : `is in ${first?.file ?? ""} too`;
    return foundIn(drafts, index, { path: ["name"], message: `${value} ${where}` });
  });
  const claims = drafts.flatMap((draft, document) =>
    draft.serves.map((served, index) => ({ draft, document, served, index })),
  );
  const shared = claims.flatMap(({ draft, served, document, index }): readonly FoundIn[] => {
    const before = claims.find((other) => other.served === served && other.document < document);
    if (served === undefined || before === undefined) return [];
    const { kind, name, file } = before.draft;
    if (kind === draft.kind && name === draft.name) return [];
    const path = placeOfName(draft, served, index);
    const where = file === draft.file ? "" : ` of ${file}`;
    const message = `the model name ${served} is already taken by ${kind} ${name ?? ""}${where}`;
    return [foundIn(drafts, document, { path, message })];
  });
  return [...twice, ...shared];
}

/** Where a document says that it answers for the name. */
function placeOfName({ kind, tree }: DraftDocument, served: string, index: number): Found["path"] {
  if (kind === "Alias") return ["name"];
  if (kind === "Profile") return isAdapterOf(tree, served) ? ["adapters", served] : ["serves", index];
  return ["models", under(tree, "models")?.kind === "map" ? served : index];
}

function isAdapterOf(tree: Tree, name: string): boolean {
  const adapters = under(tree, "adapters");
  return adapters?.kind === "map" && adapters.entries.some(({ key }) => key === name);
}

const under = (tree: Tree, key: string): Tree | undefined =>
  tree.kind === "map" ? tree.entries.find((entry) => entry.key === key)?.value : undefined;

function foundIn(
  drafts: readonly DraftDocument[],
  document: number,
  { path, message }: Pick<Found, "path" | "message">,
): FoundIn {
  const tree = drafts[document]?.tree;
  const at = tree === undefined ? TOP : locate(tree, path);
  return { document, found: { at, path, message, hint: "" } };
}
