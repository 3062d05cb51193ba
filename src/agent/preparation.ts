import type { DesiredReplica, EngineSource } from "../core/desired.ts";
import type { Progress } from "../core/replica-state.ts";
import { err, ok, type Result } from "../core/result.ts";
import type { Engine, FileChoice, OfferedFile } from "../engines/engine.ts";
import { ENGINES, resolveEngine } from "../engines/list.ts";
import type { AttemptEnd } from "../reconcile/supervision.ts";
import type { EngineProvider } from "./install/provider.ts";
import type { Prepare } from "./node-context.ts";
import type { WeightStore } from "./weights/store.ts";

interface PrepareOptions {
  readonly provider: Pick<EngineProvider, "ensure">;
  readonly weights: Pick<WeightStore, "ensure">;
  /** Where the control plane wants the engine from; undefined: it leaves that to the node. */
  readonly sourceOf: (engine: string) => EngineSource | undefined;
}

interface Request {
  readonly onProgress: (progress: Progress) => void;
  readonly signal: AbortSignal;
}

/** The engine first where it is known before the files are: it is small, and without it the weights are of no use. */
export function createPrepare({ provider, weights, sourceOf }: PrepareOptions): Prepare {
  const ensureEngine = async (engine: Engine, request: Request) => {
    const build = await provider.ensure(engine.name, sourceOf(engine.name), request);
    return build.ok ? build : err(endOf(build.error));
  };
  return async (replica, request) => {
    const known = onlyEngineFor(replica);
    const early = known === undefined ? undefined : await ensureEngine(known, request);
    if (early?.ok === false) return early;
    const choice = createChooser(replica.engine);
    const model = await weights.ensure(replica.model, { ...request, choose: choice.choose });
    if (!model.ok) return err(endOf(model.error));
    const engine = known ?? choice.engine();
    if (engine === undefined) return err({ reason: `no engine was chosen for ${replica.model.source}`, retry: false });
    const build = early ?? (await ensureEngine(engine, request));
    if (!build.ok) return build;
    return ok({
      engine,
      build: build.value,
      modelPath: model.value.mainPath,
      files: besides(model.value),
      folder: model.value.folder,
    });
  };
}

function onlyEngineFor({ engine: requested }: DesiredReplica): Engine | undefined {
  const possible = ENGINES.filter(({ name }) => requested === "auto" || name === requested);
  return possible.length === 1 ? possible[0] : undefined;
}

/** Chooses the files, and remembers for which engine. */
function createChooser(requested: string): {
  readonly choose: (offered: readonly OfferedFile[]) => Result<FileChoice, string>;
  readonly engine: () => Engine | undefined;
} {
  let chosen: Engine | undefined;
  return {
    choose: (offered) => {
      const choice = resolveEngine(requested, offered);
      if (choice.ok) chosen = choice.value.engine;
      return choice;
    },
    engine: () => chosen,
  };
}

const besides = ({
  files,
  mainPath,
}: {
  readonly files: readonly string[];
  readonly mainPath: string;
}): readonly string[] => files.filter((path) => path !== mainPath);

const endOf = ({ message, retry }: { readonly message: string; readonly retry: boolean }): AttemptEnd => ({
  reason: message,
  retry,
});
