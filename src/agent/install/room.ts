import type { EngineSource } from "../../core/desired.ts";
import type { Millis } from "../../core/ids.ts";
import type { EngineBuild } from "../../core/node.ts";
import { err, type Result } from "../../core/result.ts";
import type { Logger } from "../../platform/logger.ts";
import type { InstallContext, InstallRequest } from "./context.ts";
import { ABORTED, type InstallFailure } from "./failure.ts";
import { createSharing } from "./sharing.ts";
import { createUnused } from "./unused.ts";

/** One engine on this node: its installations, one after the other, and what came of them. */
export interface Room {
  readonly context: InstallContext;
  /** What is installed when the control plane names nothing; undefined: nothing is. */
  readonly unasked: EngineSource | undefined;
  /** Sentences of the last installation that came to an end. */
  refusals(): readonly string[];
  /** Calls for the same share one installation; those for another version wait, since both use one folder. */
  install(wanted: EngineSource, request: InstallRequest): Promise<Result<EngineBuild, InstallFailure>>;
  /** Notes that somebody is about to start the build, and what was wished for. */
  handOut(build: EngineBuild, wanted: EngineSource | undefined): EngineBuild;
  /** Removes what nothing uses any more. */
  tidy(): Promise<void>;
}

export type Tell = (engine: string, reason: string) => void;

/** Says each sentence once. */
export function createTeller(logger: Logger): Tell {
  const said = new Set<string>();
  return (engine, reason) => {
    if (!said.has(reason)) logger.warn({ engine, reason }, "an engine that cannot be had");
    said.add(reason);
  };
}

type ContextFor = (refuse: InstallContext["refuse"]) => InstallContext;

export function createRoom(contextFor: ContextFor, tell: Tell, unusedAfter?: Millis): Room {
  // What one installation runs into is the node's fault only when it ends without a build: until then it goes on trying.
  let settled: readonly string[] = [];
  let running = new Set<string>();
  const context = contextFor((reason) => {
    running.add(reason);
    tell(context.engine.name, reason);
  });
  const sharing = createSharing<EngineBuild>();
  const unused = createUnused(context, unusedAfter);
  let turn: Promise<unknown> = Promise.resolve();

  const run = async (wanted: EngineSource, request: InstallRequest): Promise<Result<EngineBuild, InstallFailure>> => {
    if (request.signal.aborted) return err(ABORTED);
    running = new Set();
    // Loaded late: an agent that only watches over what it has keeps the memory for it.
    const { install } = await import("./install.ts");
    const outcome = await install(context, wanted, request);
    if (!outcome.ok && outcome.error.kind === "aborted") return outcome;
    settled = outcome.ok ? [...running] : [...running, outcome.error.message];
    return outcome;
  };

  return {
    context,
    unasked: context.engine.python === undefined ? { version: "", source: "github" } : undefined,
    refusals: () => settled,
    install: (wanted, request) =>
      sharing([wanted.version, wanted.source].join(" "), request, (shared) => {
        const mine = turn.then(() => run(wanted, shared));
        turn = mine.catch(() => undefined);
        return mine;
      }),
    handOut: (build, wanted) => unused.handOut(build, wanted),
    tidy: () => unused.tidy(),
  };
}
