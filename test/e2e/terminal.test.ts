import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { resolve } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { fixedCluster } from "../fakes/fixed-cluster.ts";
import { type ScriptedAdmin, scriptedAdmin } from "../fakes/scripted-admin.ts";
import { until } from "./wait.ts";

// What only a real terminal shows: pictures that are drawn over, Ctrl-C, lines that are typed.

const LAUNCHER = resolve(import.meta.dirname, "../../bin/llmgw");
/** Of util-linux: runs a command at a terminal of its own. */
const TERMINAL_GIVER = "script";
const CTRL_C = "\u0003";
const CTRL_D = "\u0004";
const COLUMNS = 60;
const ROWS = 8;

let admin: ScriptedAdmin;
let router: Server;
let routerUrl: string;
let nodeState = "ready";
const running: ChildProcess[] = [];

beforeAll(async () => {
  admin = await scriptedAdmin({
    ...fixedCluster,
    listNodes: () => ({
      nodes: Array.from({ length: 10 }, (_, at) => ({
        id: `gpu-${String(at)}`,
        state: at === 0 ? nodeState : "ready",
        reasons: ["a reason that is much longer than any terminal of sixty columns could show on one line"],
      })),
    }),
  });
  router = createServer((request, response) => {
    request.resume().on("end", () => {
      response.end('data: {"choices":[{"delta":{"content":"It is so."}}]}\n\ndata: [DONE]\n\n');
    });
  });
  await new Promise<void>((done) => router.listen(0, "127.0.0.1", done));
  routerUrl = `http://127.0.0.1:${String((router.address() as AddressInfo).port)}`;
});

afterEach(() => {
  for (const child of running.splice(0)) child.kill("SIGKILL");
});

afterAll(async () => {
  await admin.stop();
  router.closeAllConnections();
  await new Promise((done) => router.close(done));
});

/** The program at a terminal of its own. */
function atTerminal(line: string, env: Readonly<Record<string, string>> = {}) {
  const size = `stty cols ${String(COLUMNS)} rows ${String(ROWS)}`;
  const child = spawn(TERMINAL_GIVER, ["-qec", `${size}; exec '${LAUNCHER}' ${line}`, "/dev/null"], {
    env: { ...process.env, LLMGW_SERVER: admin.url, LLMGW_TOKEN: "t", TERM: "xterm", NO_COLOR: "", ...env },
    stdio: ["pipe", "pipe", "inherit"],
  });
  running.push(child);
  let text = "";
  child.stdout.setEncoding("utf8").on("data", (part: string) => (text += part));
  return {
    text: () => text,
    type: (keys: string) => child.stdin.write(keys),
    ended: once(child, "close").then(([code]) => code as number),
  };
}

const hasScript = await new Promise<boolean>((done) => {
  const probe = spawn(TERMINAL_GIVER, ["--version"], { stdio: "ignore" });
  probe.on("error", () => {
    done(false);
  });
  probe.on("close", () => {
    done(true);
  });
});
if (!hasScript) console.log(`skipped: there is no ${TERMINAL_GIVER} on this machine, which gives programs a terminal`);

/** The text without colours, as rows. */
const rows = (text: string): readonly string[] => text.replaceAll(/\u001b\[[0-9;]*m/g, "").split(/\r?\n/);

describe.skipIf(!hasScript)("at a terminal", () => {
  test("a watch is drawn over itself, fits the window, and Ctrl-C ends it with 0", async () => {
    nodeState = "ready";
    const watch = atTerminal("ctl nodes -w");
    await until("the first picture", () => watch.text().includes("more lines"), { seen: watch.text });
    expect(watch.text()).toContain("\u001b[32mready");
    nodeState = "unreachable";
    await until("the change", () => watch.text().includes("unreachable"));
    watch.type(CTRL_C);
    expect(await watch.ended).toBe(0);
    // Seven rows and the cursor's: up over all of them, and nothing else is erased.
    const pictures = watch.text().split("\u001b[7A\u001b[0J");
    expect(pictures.length).toBeGreaterThanOrEqual(2);
    for (const picture of pictures) {
      const drawn = rows(picture).filter((row) => row !== "" && !row.startsWith("^C"));
      expect(drawn).toHaveLength(ROWS - 1);
      expect(drawn.filter((row) => row.length > COLUMNS)).toEqual([]);
      expect(drawn.at(-1)).toBe("… and 5 more lines");
    }
  });

  test("NO_COLOR and a dumb terminal: no colours, and no cursor that moves", async () => {
    const plain = atTerminal("ctl nodes", { NO_COLOR: "1" });
    expect(await plain.ended).toBe(0);
    expect(plain.text()).toContain("gpu-0");
    expect(plain.text()).not.toContain("\u001b");
    const dumb = atTerminal("ctl nodes -w", { TERM: "dumb" });
    await until("the rows", () => dumb.text().includes("gpu-9"));
    dumb.type(CTRL_C);
    expect(await dumb.ended).toBe(0);
    expect(dumb.text()).not.toContain("\u001b");
  });

  test("a conversation: what is typed is answered until Ctrl-D", async () => {
    const chat = atTerminal(`ctl chat qwen3 --router ${routerUrl}`);
    await until("the prompt", () => chat.text().includes("> "));
    chat.type("Is it?\r");
    await until("the answer", () => chat.text().includes("It is so."));
    chat.type("Again?\r");
    await until("the second answer", () => chat.text().split("It is so.").length === 3);
    chat.type(CTRL_D);
    expect(await chat.ended).toBe(0);
  });

  test("delete asks, and does nothing without a yes", async () => {
    const asked = atTerminal("ctl delete profile qwen3");
    await until("the question", () => asked.text().includes("[y/N]"));
    asked.type("n\r");
    expect(await asked.ended).toBe(1);
    expect(asked.text()).toContain("Nothing was done.");
  });
});
