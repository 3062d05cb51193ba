// A router alone in a process, for what must be measured from outside: memory and CPU time. Started with fork(); its first
// argument is a JSON object of model names and ports. Ends with its parent.
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { createRouterTransport } from "@connectrpc/connect";
import { pino } from "pino";
import { profileName, replicaId } from "../../src/core/ids.ts";
import { startRouter } from "../../src/run/router.ts";
import { RouterService } from "../../src/wire/gen/llmgw/v1/router_pb.js";
import { routeTableToWire } from "../../src/wire/routes.ts";

/** What the process says of itself when it is sent any message. */
export interface ProcessUsage {
  /** Bytes, the highest so far. */
  readonly maxRss: number;
  /** Microseconds, user and system. */
  readonly cpu: number;
  /** Bytes in heaps and buffers when everything that nobody holds has been collected. */
  readonly held: number;
}

export interface ProcessReady {
  readonly url: string;
}

const models = JSON.parse(process.argv[2] ?? "{}") as Readonly<Record<string, readonly number[]>>;
const [logFile] = process.argv.slice(3);

const routes = Object.entries(models).map(([name, ports]) => ({
  name,
  profile: profileName(name),
  created: 1_700_000_000,
  waitingFor: "",
  waitSeconds: 0,
  replicas: ports.map((port) => ({
    id: replicaId(`${name}-${String(port)}`),
    host: "127.0.0.1",
    port,
    apiKey: "ek-process",
    slots: 0,
  })),
}));

/** The last record in a batch of usage. */
const lastNumber = (lines: string): bigint =>
  BigInt(/"number":(\d+)/.exec(lines.slice(lines.lastIndexOf("\n") + 1))?.[1] ?? 0);

/** Gives out one table and takes all usage, as a control plane does. */
const transport = createRouterTransport(({ service }) => {
  service(RouterService, {
    async *session(requests) {
      yield { body: { case: "table" as const, value: routeTableToWire({ revision: 1, models: routes }) } };
      for await (const { body } of requests) {
        if (body.case !== "usage") continue;
        const { instance, lines } = body.value;
        yield { body: { case: "usageAck" as const, value: { instance, through: lastNumber(lines) } } };
      }
    },
  });
});

const logger =
  logFile === undefined
    ? pino({ level: "silent" })
    : pino({ base: null }, pino.destination({ dest: logFile, sync: true }));
const router = await startRouter({ listen: { host: "127.0.0.1", port: 0 }, transport, logger });
setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;
process.on("message", () => {
  const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage();
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  const cpu = userCPUTime + systemCPUTime;
  process.send?.({ maxRss: maxRSS * 1024, cpu, held: heapUsed + external } satisfies ProcessUsage);
});
process.on("disconnect", () => {
  process.exit(0);
});

const isReady = async (): Promise<boolean> => (await fetch(`${router.url}/readyz`)).ok;
while (!(await isReady())) await new Promise((resolve) => setImmediate(resolve));
process.send?.({ url: router.url } satisfies ProcessReady);
