// A program of its own: one of the processes of a router with workers. What it is to do comes from the one that started it.
import { LlmgwError } from "../core/errors.ts";
import { createLogger } from "../platform/logger.ts";
import { listenToPrimary } from "../platform/workers.ts";
import { type RunningRouterAlone, startRouterAlone } from "./router-alone.ts";
import type { FromWorker, ToWorker, WorkerStart } from "./router-worker-talk.ts";

const state: { running: RunningRouterAlone | undefined; isStopping: boolean } = {
  running: undefined,
  isStopping: false,
};

const line = listenToPrimary({
  onMessage: (message) => void obey(message as ToWorker),
  onGone: () => {
    // Told twice, or left alone while stopping: at once.
    if (state.isStopping) process.exit(1);
    void stop();
  },
});
const say = (said: FromWorker): void => line?.send(said);
say({ kind: "ready-to-start" });

async function obey(order: ToWorker): Promise<void> {
  if (order.kind === "start") await start(order.start);
  else if (order.kind === "report") await report(order.asked);
  else if (order.kind === "reload") state.running?.reload();
  else await stop();
}

async function start({ config, stateDir, log, part }: WorkerStart): Promise<void> {
  const logger = (await createLogger(log.level, log.format)).child({ worker: part.index });
  try {
    state.running = await startRouterAlone({ config, stateDir, logger, part, env: process.env });
    say({ kind: "started", url: state.running.url });
  } catch (error) {
    const { code, message } = LlmgwError.from(error);
    say({ kind: "failed", code, message });
    line?.hangUp();
  }
}

async function report(asked: number): Promise<void> {
  const { running } = state;
  const metrics = (await running?.metricsJson()) ?? [];
  const notReady = running === undefined ? "it has not started yet" : running.notReady();
  say({ kind: "report", asked, metrics, notReady: notReady ?? "" });
}

async function stop(): Promise<void> {
  state.isStopping = true;
  await state.running?.stop();
  line?.hangUp();
  process.exit(0);
}
