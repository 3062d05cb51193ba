import { type Bytes, bytes } from "../../core/ids.ts";
import type { LookedModel } from "../../core/model-facts.ts";
import type { ModelSpec } from "../../core/profile.ts";
import { err, ok, type Result } from "../../core/result.ts";
import { parseSource } from "../../core/source.ts";
import type { FileChoice } from "../../engines/engine.ts";
import { readFacts, type ReadStart } from "../../engines/weights/read-facts.ts";
import { safetensorsSize } from "../../engines/weights/safetensors-size.ts";
import { namedFile } from "./identity.ts";
import { type Choose, chooseFrom, offerOf, type RemoteFile } from "./offer.ts";
import { describeSource } from "./sources/list.ts";
import type { Described, SourceContext } from "./sources/source.ts";

interface Looking {
  readonly choose: Choose;
  readonly context: SourceContext;
  readonly signal: AbortSignal;
}

/** Sources that another machine can be asked about. What lies on a node's own disk, that node tells. */
const ASKABLE: readonly string[] = ["hf", "https"];

/** What a model is, from its source's listing and the first bytes of its main file; nothing is fetched or written. */
export async function lookAtSource(spec: ModelSpec, looking: Looking): Promise<LookedModel> {
  const nothing = { source: spec.source, facts: undefined, weights: undefined };
  const source = parseSource(spec.source);
  if (!source.ok) return { ...nothing, problem: source.error };
  if (!ASKABLE.includes(source.value.kind)) return { ...nothing, problem: "such a source is only known to its node" };
  const described = await describeSource(source.value, looking.context, looking.signal);
  if (!described.ok) return { ...nothing, problem: described.error.message };
  const offered = offerOf(described.value.files, namedFile(source.value));
  const choice = chooseFrom(offered, spec.files, looking.choose);
  // Safetensors, which no engine here may load, still say what they are.
  const chosen = choice.ok ? choice.value : { files: offered.map(({ name }) => name), main: "" };
  const starts = new Map<string, number>();
  const read: ReadStart = (name, length) => startOf(described.value, { name, length, starts });
  const facts = await readFacts(chosen.main, read);
  const weights = sizeOf(chosen, offered, starts) ?? (await safetensorsSize(chosen.files, read));
  return {
    source: spec.source,
    facts: facts.ok ? facts.value : undefined,
    weights,
    problem: facts.ok ? (weights === undefined ? "it does not say how large its files are" : "") : facts.error,
  };
}

interface Start {
  readonly name: string;
  readonly length: number;
  /** Sizes that came with the answers, by name. */
  readonly starts: Map<string, number>;
}

async function startOf(described: Described, { name, length, starts }: Start): Promise<Result<Uint8Array, string>> {
  if (described.kind !== "remote" || described.start === undefined) return err("its source gives whole files only");
  const file: RemoteFile = described.files.find((one) => one.name === name) ?? { name, bytes: 0, sha256: undefined };
  const start = await described.start(file, length);
  if (!start.ok) return err(start.error.message);
  if (start.value.total !== undefined) starts.set(name, start.value.total);
  return ok(start.value.bytes);
}

/** Undefined when the size of a file is not known: a sum without it would be a lie. */
function sizeOf(
  { files }: FileChoice,
  offered: readonly RemoteFile[],
  starts: ReadonlyMap<string, number>,
): Bytes | undefined {
  const sizes = files.map((name) => offered.find((file) => file.name === name)?.bytes || (starts.get(name) ?? 0));
  return sizes.length === 0 || sizes.includes(0) ? undefined : bytes(sizes.reduce((sum, size) => sum + size, 0));
}
