import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { millis } from "../../src/core/ids.ts";
import { type Authority, issue, type Leaf, openAuthority } from "../../src/pki/make.ts";
import { freePort } from "./cluster.ts";
import { finished, llmgw, type Running } from "./process.ts";
import { until } from "./wait.ts";

const DAY = 86_400_000;

interface TlsSiteOptions {
  /** What server.yaml says under `router`; none by default. */
  readonly router?: string;
  readonly logLevel?: string;
}

interface NodeView {
  readonly id: string;
  readonly state: string;
}

/** A control plane with certificates that `llmgw ctl cert` made, and agents: real processes below one folder. */
export class TlsSite {
  readonly dir: string;
  readonly certs: string;
  readonly port: number;
  #server: Running | undefined;
  readonly #agents = new Map<string, Running>();
  readonly #router: string;

  private constructor(dir: string, port: number, router: string) {
    this.dir = dir;
    this.certs = join(dir, "certs");
    this.port = port;
    this.#router = router;
  }

  static async start({ router = '{ listen: "" }', logLevel = "info" }: TlsSiteOptions = {}): Promise<TlsSite> {
    const site = new TlsSite(await mkdtemp(join(tmpdir(), "llmgw-tls-e2e-")), await freePort(), router);
    await site.cert("init");
    await site.cert("issue-server", "127.0.0.1", "cp.example");
    await writeFile(join(site.dir, "server.yaml"), site.serverYaml());
    const files = ["-c", join(site.dir, "server.yaml"), "--data-dir", join(site.dir, "server")];
    site.#server = llmgw(["server", ...files, "--log-level", logLevel]);
    await site.serverSays(/control plane started/);
    return site;
  }

  serverYaml(): string {
    const [ca, cert, key] = ["ca.pem", "127.0.0.1.pem", "127.0.0.1-key.pem"].map((file) => join(this.certs, file));
    const tls = `tls: { ca: "${ca ?? ""}", cert: "${cert ?? ""}", key: "${key ?? ""}" }`;
    return `listen: "127.0.0.1:${String(this.port)}"\n${tls}\nrouter: ${this.#router}\n`;
  }

  /** `llmgw ctl cert …`; fails unless it ends well. */
  async cert(...args: readonly string[]): Promise<string> {
    const done = await finished(["ctl", "cert", ...args, "--dir", this.certs]);
    if (done.code !== 0) throw new Error(`cert ${args.join(" ")}: ${String(done.code)} ${done.stderr}`);
    return done.stdout;
  }

  /** A pair that no command would make, beside the others. */
  async forge(name: string, leaf: Partial<Leaf>, by?: Authority): Promise<void> {
    const usual: Leaf = {
      commonName: "node-x",
      organization: "llmgw:nodes",
      names: [{ kind: "dns", value: "node-x" }],
      usage: "client",
      now: millis(Date.now()),
      lifetime: millis(DAY),
    };
    const made = await issue(by ?? (await this.authority()), { ...usual, ...leaf });
    await writeFile(join(this.certs, `${name}.pem`), made.certificate);
    await writeFile(join(this.certs, `${name}-key.pem`), made.key, { mode: 0o600 });
  }

  async authority(): Promise<Authority> {
    const read = (file: string): Promise<string> => readFile(join(this.certs, file), "utf8");
    const opened = openAuthority({ certificate: await read("ca.pem"), key: await read("ca-key.pem") });
    if (!opened.ok) throw new Error(opened.error);
    return opened.value;
  }

  /** An agent that says it is `id` and shows the certificate `pair`. It has a folder and files of its own. */
  async agent(id: string, pair = id): Promise<Running> {
    const name = `agent-${id}-${pair}`;
    const folder = await this.agentFiles(name, id, pair);
    const agent = llmgw(["agent", "-c", join(folder, "agent.yaml"), "--data-dir", folder]);
    this.#agents.set(name, agent);
    return agent;
  }

  async agentFiles(name: string, id: string, pair: string): Promise<string> {
    const folder = join(this.dir, name);
    await mkdir(folder, { recursive: true });
    for (const [from, to] of [
      ["ca.pem", "ca.pem"],
      [`${pair}.pem`, "node.pem"],
      [`${pair}-key.pem`, "node-key.pem"],
    ] as const) {
      await copyFile(join(this.certs, from), join(folder, to));
    }
    const lines = [
      `server: "https://127.0.0.1:${String(this.port)}"`,
      `node_id: ${id}`,
      `tls: { ca: "${folder}/ca.pem", cert: "${folder}/node.pem", key: "${folder}/node-key.pem" }`,
      "heartbeat_interval: 1s",
      "reconnect_base: 200ms",
      "reconnect_max: 2s",
      'metrics_listen: ""',
      'peer_listen: ""',
      "",
    ];
    await writeFile(join(folder, "agent.yaml"), lines.join("\n"));
    return folder;
  }

  async serverSays(what: RegExp): Promise<void> {
    await until(`the server to say ${String(what)}`, () => what.test(this.#server?.output() ?? ""), {
      seen: () => this.#server?.output().slice(-4000) ?? "",
    });
  }

  get serverOutput(): string {
    return this.#server?.output() ?? "";
  }

  get serverPid(): number {
    return this.#server?.pid ?? 0;
  }

  hangup(): void {
    this.#server?.child.kill("SIGHUP");
  }

  /** A call of the admin API over HTTP/1.1: status and text. */
  async admin(method: string, options: { readonly token?: string; readonly pair?: string } = {}): Promise<string> {
    const read = (file: string): Promise<string> => readFile(join(this.certs, file), "utf8");
    const { token, pair } = options;
    const own = pair === undefined ? {} : { cert: await read(`${pair}.pem`), key: await read(`${pair}-key.pem`) };
    const ca = await read("ca.pem");
    return new Promise((resolve, reject) => {
      const call = request(`https://127.0.0.1:${String(this.port)}/llmgw.v1.AdminService/${method}`, {
        method: "POST",
        agent: false,
        headers: {
          "content-type": "application/json",
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        },
        ...{ ca, ...own },
      });
      call.on("error", reject).on("response", (response) => {
        let text = `${String(response.statusCode)} `;
        response.setEncoding("utf8").on("data", (part: string) => (text += part));
        response.on("end", () => {
          resolve(text);
        });
      });
      call.end("{}");
    });
  }

  async nodes(): Promise<readonly NodeView[]> {
    const token = (await readFile(join(this.dir, "server", "admin-token"), "utf8")).trim();
    const answer = await this.admin("ListNodes", { token });
    return (JSON.parse(answer.slice(4)) as { readonly nodes?: readonly NodeView[] }).nodes ?? [];
  }

  async stop(): Promise<void> {
    for (const agent of this.#agents.values()) await agent.end();
    await this.#server?.end();
    await rm(this.dir, { recursive: true, force: true });
  }
}

/** Waits for the words in what the process printed. */
export const says = (running: Running, what: RegExp): Promise<boolean> =>
  until(`the words ${String(what)}`, () => what.test(running.output()), {
    seen: () => running.output().slice(-4000),
  });
