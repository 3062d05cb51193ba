import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { ProcessReady, ProcessUsage } from "./router-process.ts";

/** A router in a process of its own. */
export class RouterChild {
  readonly url: string;
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, url: string) {
    this.#child = child;
    this.url = url;
  }

  /** Serves model names by the engines' ports. With a log file each request is logged there. */
  static async start(models: Readonly<Record<string, readonly number[]>>, logFile?: string): Promise<RouterChild> {
    const program = join(import.meta.dirname, "router-process.ts");
    const args = logFile === undefined ? [] : [logFile];
    const child = fork(program, [JSON.stringify(models), ...args], { stdio: ["ignore", "inherit", "inherit", "ipc"] });
    const ended = once(child, "exit").then(([code]) => {
      throw new Error(`the router process ended with ${String(code)}`);
    });
    const [ready] = (await Promise.race([once(child, "message"), ended])) as [ProcessReady];
    ended.catch(() => undefined);
    return new RouterChild(child, ready.url);
  }

  async usage(): Promise<ProcessUsage> {
    const answer = once(this.#child, "message");
    this.#child.send("usage");
    const [usage] = (await answer) as [ProcessUsage];
    return usage;
  }

  async stop(): Promise<void> {
    const ended = once(this.#child, "exit");
    this.#child.disconnect();
    await ended;
  }
}
