import type { DesiredReplica, EngineSource } from "../core/desired.ts";
import { messageOf } from "../core/errors.ts";
import type { EngineBuild } from "../core/node.ts";
import type { Progress } from "../core/replica-state.ts";
import { err, ok, type Result } from "../core/result.ts";
import type { Engine, FileChoice, OfferedFile } from "../engines/engine.ts";
import { ENGINES, resolveEngine } from "../engines/list.ts";
import type { readStart } from "../platform/file-start.ts";
import type { AttemptEnd } from "../reconcile/supervision.ts";
import { ensureAdapters } from "./adapters.ts";
import type { EngineProvider } from "./install/provider.ts";
import type { Prepare, Prepared } from "./node-context.ts";
import { whySplitFails } from "./split-check.ts";
import type { ReadyModel } from "./weights/ready.ts";
import type { WeightStore } from "./weights/store.ts";

interface PrepareOptions {
  readonly provider: Pick<EngineProvider, "ensure">;
  readonly weights: Pick<WeightStore, "ensure">;
  /** Left out: from the disk. */
  readonly readStart?: typeof readStart;
  /** Where the control plane wants the engine from; undefined: it leaves that to the node. */
  readonly sourceOf: (engine: string) => EngineSource | undefined;
}

interface Request {
  readonly onProgress: (progress: Progress) => void;
  readonly signal: AbortSignal;
}

interface Had {
  readonly engine: Engine;
  readonly build: EngineBuild;
}

/**
 * The engine first where it is known before the files are, since without it the weights are of no use. Where the files say
 * which one it is, it is got while they are fetched, and if it cannot be had, they are not fetched to the end.
 */
export function createPrepare(options: PrepareOptions): Prepare {
  return async (replica, request) => {
    const named = ENGINES.find(({ name }) => name === replica.engine);
    const prepared =
      named === undefined
        ? await prepareByFiles(options, replica, request)
        : await prepareNamed(options, replica, { ...request, named });
    if (!prepared.ok) return prepared;
    const reason = await whySplitFails(replica, prepared.value, options.readStart);
    if (reason !== undefined) return err({ reason, retry: false });
    const { engine } = prepared.value;
    if (replica.adapters === undefined) return prepared;
    const adapters = await ensureAdapters(replica.adapters, { engine, weights: options.weights, ...request });
    return adapters.ok ? ok({ ...prepared.value, adapters: adapters.value }) : adapters;
  };
}

async function prepareNamed(
  options: PrepareOptions,
  replica: DesiredReplica,
  { named, ...request }: Request & { readonly named: Engine },
): Promise<Result<Prepared, AttemptEnd>> {
  const had = await ensureFirst(options, [named], request);
  if (!had.ok) return had;
  const choose = (offered: readonly OfferedFile[]) => named.chooseFiles(offered);
  const model = await options.weights.ensure(replica.model, { ...request, choose });
  return model.ok ? ok(preparedOf(had.value, model.value)) : err(endOf(model.error));
}

async function prepareByFiles(
  options: PrepareOptions,
  replica: DesiredReplica,
  { onProgress, signal }: Request,
): Promise<Result<Prepared, AttemptEnd>> {
  const giveUp = new AbortController();
  const request = { onProgress, signal: AbortSignal.any([signal, giveUp.signal]) };
  let found: { readonly names: string; readonly had: Promise<Result<Had, AttemptEnd>> } | undefined;
  let failure: AttemptEnd | undefined;
  const begin = async (engines: readonly [Engine, ...Engine[]]): Promise<Result<Had, AttemptEnd>> => {
    const had = await ensureFirst(options, engines, request).catch((error: unknown) =>
      err({ reason: messageOf(error), retry: true }),
    );
    if (had.ok || giveUp.signal.aborted) return had;
    failure = had.error;
    giveUp.abort();
    return had;
  };
  const choose = (offered: readonly OfferedFile[]): Result<FileChoice, string> => {
    const choice = resolveEngine(replica.engine, offered);
    if (!choice.ok) return choice;
    const engines = [choice.value.engine, ...choice.value.others] as const;
    const names = engines.map(({ name }) => name).join(" ");
    if (found?.names !== names) found = { names, had: begin(engines) };
    return choice;
  };
  const model = await options.weights.ensure(replica.model, { ...request, choose });
  if (!model.ok) {
    // Of the two that failed, only the first did so by itself.
    giveUp.abort();
    return err(failure ?? endOf(model.error));
  }
  const had = await found?.had;
  if (had === undefined) return err({ reason: `no engine was chosen for ${replica.model.source}`, retry: false });
  return had.ok ? ok(preparedOf(had.value, model.value)) : had;
}

/** The first of them that this node has or can get; otherwise why it cannot have any. */
async function ensureFirst(
  { provider, sourceOf }: PrepareOptions,
  engines: readonly [Engine, ...Engine[]],
  request: Request,
): Promise<Result<Had, AttemptEnd>> {
  const ends: AttemptEnd[] = [];
  for (const engine of engines) {
    const build = await provider.ensure(engine.name, sourceOf(engine.name), request);
    if (build.ok) return ok({ engine, build: build.value });
    ends.push(endOf(build.error));
    if (request.signal.aborted) break;
  }
  return err({ reason: ends.map(({ reason }) => reason).join("; "), retry: ends.some(({ retry }) => retry) });
}

const preparedOf = ({ engine, build }: Had, model: ReadyModel): Prepared => ({
  ...{ engine, build },
  modelPath: model.mainPath,
  files: besides(model),
  folder: model.folder,
});

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
