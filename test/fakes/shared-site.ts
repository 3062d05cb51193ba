import { createHash } from "node:crypto";
import { Code, ConnectError, createRouterTransport, type Transport } from "@connectrpc/connect";
import { pino } from "pino";
import { Routers } from "../../src/control/sessions/routers.ts";
import { ShareDesk } from "../../src/control/usage/share-desk.ts";
import { UsageDesk } from "../../src/control/usage/usage-desk.ts";
import { type KeyLimits, NO_LIMITS } from "../../src/core/client-key.ts";
import { millis, profileName, replicaId } from "../../src/core/ids.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { silentLogger } from "../../src/platform/logger.ts";
import { type RunningRouter, startRouter } from "../../src/run/router.ts";
import { openSqliteStore } from "../../src/store/sqlite.ts";
import type { Store, StoredKey } from "../../src/store/store.ts";
import { RouterService } from "../../src/wire/gen/llmgw/v1/router_pb.js";
import { until } from "../e2e/wait.ts";

export const SECRET = "sk-llmgw-0123456789abcdefghijklmnopqrstuvwxyzABCDEFG";

export type LogLine = Readonly<Record<string, unknown>>;

/** A router of the site, and the line between it and the control plane. */
export interface SiteRouter {
  readonly running: RunningRouter;
  readonly logs: readonly LogLine[];
  /** The line is broken, and stays so until it is mended. */
  cut(): void;
  mend(): void;
}

/** What a control plane has for routers, over a store of its own, and as many real routers as a test wants. */
export class SharedSite {
  readonly store: Store;
  readonly #port: number;
  readonly #routers: SiteRouter[] = [];
  #control: Routers | undefined;
  #usage: UsageDesk | undefined;

  private constructor(store: Store, port: number) {
    this.store = store;
    this.#port = port;
  }

  /** @param port of the engine behind the model m */
  static async start(port: number, limits: Partial<KeyLimits>): Promise<SharedSite> {
    const site = new SharedSite(await openSqliteStore({ path: ":memory:", newServerId: "s" }), port);
    await site.restartControl(limits);
    return site;
  }

  /** A control plane that remembers what is in the store and nothing else. */
  async restartControl(limits: Partial<KeyLimits>): Promise<void> {
    const options = { store: this.store.usage, clock: systemClock, logger: silentLogger };
    this.#usage = await UsageDesk.start({ ...options, retain: millis(400 * 86_400_000) });
    this.#control = new Routers({
      clock: systemClock,
      table: { revision: 1, models: [] },
      goneAfter: () => millis(15_000),
      wake: () => undefined,
      parts: [this.#usage, await ShareDesk.start(options)],
    });
    this.setLimits(limits);
    this.#control.publish({ revision: 2, models: [this.#model()] });
  }

  setLimits(limits: Partial<KeyLimits>): void {
    this.#control?.publishKeys([keyWith({ ...NO_LIMITS, ...limits })]);
  }

  #model() {
    const replica = {
      id: replicaId("m-1"),
      host: "127.0.0.1",
      port: this.#port,
      apiKey: "ek",
      slots: 0,
      apis: ["chat" as const],
    };
    return {
      name: "m",
      profile: profileName("m"),
      created: 1_700_000_000,
      waitingFor: "",
      waitSeconds: 0,
      replicas: [replica],
    };
  }

  async router(stateDir?: string): Promise<SiteRouter> {
    const logs: LogLine[] = [];
    const logger = pino({ base: null }, { write: (line: string) => logs.push(JSON.parse(line) as LogLine) });
    const line = new Line(() => this.#control);
    const running = await startRouter({
      listen: { host: "127.0.0.1", port: 0 },
      transport: line.transport(),
      logger,
      auth: "keys",
      limits: { tick: millis(20) },
      ...(stateDir === undefined ? {} : { stateDir }),
    });
    const router: SiteRouter = {
      running,
      logs,
      cut: () => {
        line.cut();
      },
      mend: () => {
        line.mend();
      },
    };
    this.#routers.push(router);
    await until("the router's routes", async () => (await fetch(`${running.url}/readyz`)).ok);
    return router;
  }

  ask({ running }: SiteRouter, init: RequestInit = {}): Promise<Response> {
    return fetch(`${running.url}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${SECRET}` },
      body: '{"model":"m","messages":[]}',
      ...init,
    });
  }

  /** How many of so many requests, one after the other over the routers in turn, are answered. */
  async admitted(count: number, ...routers: readonly SiteRouter[]): Promise<number> {
    let admitted = 0;
    for (let n = 0; n < count; n++) {
      const router = routers[n % routers.length];
      if (router === undefined) break;
      const response = await this.ask(router);
      await response.text();
      if (response.status === 200) admitted += 1;
    }
    return admitted;
  }

  async stop(): Promise<void> {
    for (const { running } of this.#routers) await running.stop();
    await this.#usage?.settled();
    await this.store.close();
  }
}

class Line {
  readonly #control: () => Routers | undefined;
  #broken = new AbortController();
  #isAway = false;

  constructor(control: () => Routers | undefined) {
    this.#control = control;
  }

  cut(): void {
    this.#isAway = true;
    this.#broken.abort();
  }

  mend(): void {
    this.#isAway = false;
    this.#broken = new AbortController();
  }

  transport(): Transport {
    return createRouterTransport(({ service }) => {
      service(RouterService, {
        session: (requests, context) => {
          const control = this.#control();
          if (this.#isAway || control === undefined) throw new ConnectError("the line is cut", Code.Unavailable);
          const signal = AbortSignal.any([context.signal, this.#broken.signal]);
          return control.session(requests, { ...context, signal });
        },
      });
    });
  }
}

const keyWith = (limits: KeyLimits): StoredKey => ({
  id: "key-1",
  name: "app",
  sha256: createHash("sha256").update(SECRET).digest("hex"),
  models: [],
  limits,
  expiresAt: undefined,
  prefix: "sk-llmgw-012345",
  createdAt: millis(0),
  createdBy: "",
  revokedAt: undefined,
});
