import { type AgentConfig, parseAgentConfig } from "../config/agent.ts";
import { isLoopback } from "../config/ip.ts";
import { type ListenAddress, writeListen } from "../config/listen.ts";
import { type ConfigProblem, renderProblems } from "../config/problem.ts";
import { parseServerConfig, type ServerConfig } from "../config/server.ts";
import { LlmgwError, messageOf } from "../core/errors.ts";
import { nodeId } from "../core/ids.ts";
import type { Result } from "../core/result.ts";
import type { Clock } from "../platform/clock.ts";
import { readHostFacts } from "../platform/host.ts";
import { acquireLock, type Lock } from "../platform/lock.ts";
import type { Logger } from "../platform/logger.ts";
import { startAgent } from "./agent.ts";
import { type AdminClient, connectAdmin } from "./client.ts";
import { saveContext } from "./context-file.ts";
import { answersThrough } from "./first-answer.ts";
import { upPaths } from "./paths.ts";
import { startServer } from "./server.ts";
import { type NamedModel, serveModel, type UpNews } from "./up-model.ts";
import { choosePort } from "./up-ports.ts";

export interface UpOptions {
  /** Everything is kept in it. */
  readonly folder: string;
  /** Undefined: the usual port on loopback, or the next free one. */
  readonly listen: ListenAddress | undefined;
  readonly routerListen: ListenAddress | undefined;
  readonly model: NamedModel | undefined;
  /** Where `llmgw ctl` will find this control plane. */
  readonly contextFile: string;
  readonly logger: Logger;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  /** Ends it: everything that was started is stopped, engines too. */
  readonly signal: AbortSignal;
  readonly tell: (news: UpNews) => void;
  readonly ready: (endpoint: UpEndpoint) => void;
}

/** Where to send requests, and for which model. */
interface UpEndpoint {
  readonly model: string;
  readonly routerUrl: string;
}

const USUAL_SERVER: ListenAddress = { host: "127.0.0.1", port: 7443 };
const USUAL_ROUTER: ListenAddress = { host: "127.0.0.1", port: 8080 };

/** Control plane, router and agent in this process, and a model that answers. Resolves when all of it has been stopped. */
export async function runUp(options: UpOptions): Promise<void> {
  const { folder, logger } = options;
  const paths = upPaths(folder);
  await using stack = new AsyncDisposableStack();
  const lock = await takeLock(paths.lock, folder);
  stack.defer(() => lock.release());

  const config = await serverConfig(options);
  const server = await startServer({ config, dataDir: paths.serverDir, logger });
  stack.defer(() => server.stop());
  const admin = connectAdmin({ server: server.url, token: server.adminToken, ca: undefined });
  stack.defer(() => {
    admin.close();
  });
  stack.defer(await announce(options, { server: server.url, token: server.adminToken }));

  const agent = await startAgent({
    config: agentConfig(server.url),
    paths: paths.agent,
    nodeId: nodeId((await readHostFacts()).hostname),
    logger,
    env: options.env,
  });
  stack.defer(() => agent.stop("stop-engines"));

  await Promise.race([serveUntilStopped(options, admin.client), agent.done]);
}

async function serveUntilStopped(options: UpOptions, client: AdminClient): Promise<void> {
  const { signal, model: named } = options;
  try {
    const { routerUrl } = await client.getStatus({}, { signal });
    const answers = (model: string): Promise<boolean> => answersThrough(routerUrl, model, signal);
    const model = await serveModel({ ...options, client, answers }, named);
    if (!signal.aborted) options.ready({ model, routerUrl });
  } catch (error) {
    // Calls that the stop cut off are no failures.
    if (!signal.aborted) throw error;
  }
  await new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    else
      signal.addEventListener("abort", () => {
        resolve();
      });
  });
}

/** Lets `llmgw ctl` find this control plane; serving does not hang on it. The function takes the word back. */
async function announce(
  { contextFile, tell }: UpOptions,
  context: { readonly server: string; readonly token: string },
): Promise<() => Promise<void>> {
  try {
    return await saveContext(contextFile, contextName(context.server), context);
  } catch (error) {
    const how = `give it --server ${context.server} and --token-file with the file admin-token of the data folder`;
    tell({ kind: "notice", text: `llmgw ctl will not find this by itself (${messageOf(error)}): ${how}.` });
    return () => Promise.resolve();
  }
}

async function takeLock(path: string, folder: string): Promise<Lock> {
  const lock = await acquireLock(path);
  if (lock.ok) return lock.value;
  const pid = String(lock.error.pid);
  throw new LlmgwError(
    "CONFLICT",
    `llmgw up already runs on ${folder}, as process ${pid}. Use it with \`llmgw ctl\`, stop it, or give another --data-dir.`,
  );
}

async function serverConfig({ listen, routerListen, tell }: UpOptions): Promise<ServerConfig> {
  const say = (text: string): void => {
    tell({ kind: "notice", text });
  };
  const wish = { who: "control plane", flag: "--listen", usual: USUAL_SERVER, asked: listen, promised: [] };
  const server = await choosePort(wish, say);
  const router = await choosePort(
    { who: "router", flag: "--router-listen", usual: USUAL_ROUTER, asked: routerListen, promised: [server.port] },
    say,
  );
  if (!isLoopback(router.host)) {
    say(`Whoever reaches ${writeListen(router)} may use the models: only \`llmgw server\` asks for keys.`);
  }
  return parsed(
    parseServerConfig(
      source([
        "listen: " + quoted(writeListen(server)),
        `router: { listen: ${quoted(writeListen(router))}, auth: none }`,
      ]),
    ),
  );
}

/** Nothing but the one stream: no other port is opened, so that copies run side by side. */
function agentConfig(server: string): AgentConfig {
  return parsed(
    parseAgentConfig(
      source([`server: ${quoted(server)}`, 'metrics_listen: ""', 'peer_listen: ""', "heartbeat_interval: 1s"]),
    ),
  );
}

const quoted = (text: string): string => JSON.stringify(text);

const source = (lines: readonly string[]) => ({
  text: lines.join("\n"),
  file: "llmgw up",
  env: {},
  readSecret: () => ({ ok: false as const, error: "there are no secrets here" }),
});

function parsed<C>(config: Result<C, readonly ConfigProblem[]>): C {
  if (config.ok) return config.value;
  throw new LlmgwError("BAD_CONFIG", renderProblems(config.error));
}

/** Copies side by side keep a context each. */
function contextName(url: string): string {
  const { port } = new URL(url);
  return port === String(USUAL_SERVER.port) ? "up" : `up-${port}`;
}
