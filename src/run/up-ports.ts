import type { ListenAddress } from "../config/listen.ts";
import { LlmgwError } from "../core/errors.ts";
import { isPortFree } from "../platform/ports.ts";

export interface PortWish {
  /** For messages and for the flag that asks for another: "control plane", "--listen". */
  readonly who: string;
  readonly flag: string;
  readonly usual: ListenAddress;
  /** What the flag said. */
  readonly asked: ListenAddress | undefined;
  /** Ports that are promised to another part of this process. */
  readonly promised: readonly number[];
}

/** Enough for many copies side by side; beyond it something else is wrong. */
const TRIES = 100;

/** The address that was asked for, or an error; else the usual one or the next free port after it, which is then said. */
export async function choosePort(wish: PortWish, say: (text: string) => void): Promise<ListenAddress> {
  const { who, flag, usual, asked, promised } = wish;
  if (asked !== undefined) {
    if (asked.port === 0 || (await isPortFree(asked.host, asked.port))) return asked;
    throw new LlmgwError(
      "CONFLICT",
      `Port ${String(asked.port)} of ${asked.host} is taken (${flag}): name another one.`,
    );
  }
  for (let port = usual.port; port < usual.port + TRIES; port += 1) {
    if (promised.includes(port) || !(await isPortFree(usual.host, port))) continue;
    if (port !== usual.port) say(`Port ${String(usual.port)} is taken, so the ${who} is on ${String(port)}.`);
    return { host: usual.host, port };
  }
  const last = usual.port + TRIES - 1;
  throw new LlmgwError(
    "CONFLICT",
    `No port from ${String(usual.port)} to ${String(last)} is free for the ${who}: name one with ${flag}.`,
  );
}
