import { formatBytes } from "../core/format.ts";
import type { Bytes, GpuUuid } from "../core/ids.ts";

/** A change that alone turns one rule's no into a yes. Amounts are the least that do. */
export type Remedy =
  | { readonly kind: "reconnect" }
  | { readonly kind: "uncordon" }
  | { readonly kind: "add-labels"; readonly labels: Readonly<Record<string, string>> }
  | { readonly kind: "drop-selector"; readonly labels: readonly string[] }
  | { readonly kind: "name-fabric" }
  | { readonly kind: "mend-fabric"; readonly fabric: string }
  /** So many more nodes of the fabric must be able to take a rank. */
  | { readonly kind: "join-fabric"; readonly fabric: string; readonly nodes: number }
  | { readonly kind: "offer-engine"; readonly engines: readonly string[] }
  /** `beyond`: more than the node would have if nothing else ran. */
  | { readonly kind: "free-memory"; readonly bytes: Bytes; readonly beyond: boolean }
  | { readonly kind: "name-memory"; readonly bytes: Bytes }
  | { readonly kind: "name-context"; readonly tokens: number }
  | {
      readonly kind: "free-gpus";
      /** Those that are nearest to it, with what each lacks. */
      readonly gpus: readonly { readonly uuid: GpuUuid; readonly index: number; readonly bytes: Bytes }[];
      /** GPUs that are missing altogether. */
      readonly more: number;
      /** That each must be able to give; "whole": nobody else on it. */
      readonly memory: Bytes | "whole";
    }
  | { readonly kind: "name-gpu-memory"; readonly bytes: Bytes }
  | { readonly kind: "free-disk"; readonly path: string; readonly bytes: Bytes };

type RemedyOf = { readonly [R in Remedy as R["kind"]]: R };

/** Each remedy has its words here, so a new one cannot be forgotten. */
const WORDS: { readonly [K in Remedy["kind"]]: (remedy: RemedyOf[K]) => string } = {
  reconnect: () => "start its agent, or mend the way to it",
  uncordon: () => "uncordon it",
  "add-labels": ({ labels }) => `give it the ${plural("label", pairs(labels))}`,
  "drop-selector": ({ labels }) => `drop ${labels.join(" and ")} from node_selector`,
  "name-fabric": () => "name its fabric in its agent.yaml (fabrics:), if it is on one",
  "mend-fabric": ({ fabric }) => `mend its ports on fabric ${fabric}`,
  "join-fabric": ({ fabric, nodes }) =>
    `make room on ${String(nodes)} more ${nodes === 1 ? "node" : "nodes"} of fabric ${fabric}`,
  "offer-engine": ({ engines }) => `name ${engines.join(" or ")} in server.yaml (engines:), or install it there`,
  "free-memory": ({ bytes, beyond }) => `${beyond ? "add" : "free"} ${formatBytes(bytes)} of memory`,
  "name-memory": ({ bytes }) => `set resources.memory to ${formatBytes(bytes)} or less`,
  "name-context": ({ tokens }) => `set context to ${String(tokens)} or less`,
  "free-gpus": gpusInWords,
  "name-gpu-memory": ({ bytes }) => `set resources.gpu_memory to ${formatBytes(bytes)} or less`,
  "free-disk": ({ bytes, path }) => `free ${formatBytes(bytes)} more on ${path}`,
};

/** What a person has to do, as an order without its full stop. */
export const remedyInWords = (remedy: Remedy): string => inWords(remedy.kind, remedy);

const inWords = <K extends Remedy["kind"]>(kind: K, remedy: RemedyOf[K]): string => WORDS[kind](remedy);

const pairs = (labels: Readonly<Record<string, string>>): readonly string[] =>
  Object.entries(labels).map(([label, value]) => `${label}=${value}`);

const plural = (word: string, items: readonly string[]): string =>
  `${word}${items.length === 1 ? "" : "s"} ${items.join(" and ")}`;

function gpusInWords({ gpus, more, memory }: Remedy & { readonly kind: "free-gpus" }): string {
  const free = gpus.map(({ index, bytes: lacking }) =>
    memory === "whole" ? `empty GPU ${String(index)}` : `free ${formatBytes(lacking)} more on GPU ${String(index)}`,
  );
  const each = memory === "whole" ? "" : ` with ${formatBytes(memory)} free`;
  const add = more === 0 ? [] : [`add ${String(more)} ${more === 1 ? "GPU" : "GPUs"}${each}`];
  return [...free, ...add].join(" and ");
}
