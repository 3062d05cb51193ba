import { once } from "node:events";
import { createServer, type Server } from "node:net";
import { afterEach, expect, test } from "vitest";
import { choosePort } from "./up-ports.ts";

const open: Server[] = [];

async function takenPort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  open.push(server);
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return address.port;
}

afterEach(() => {
  for (const server of open.splice(0)) server.close();
});

const wish = (port: number) => ({
  who: "router",
  flag: "--router-listen",
  usual: { host: "127.0.0.1", port },
  asked: undefined,
  promised: [],
});

test("the usual port is taken: the next free one, said plainly", async () => {
  const port = await takenPort();
  const said: string[] = [];
  const chosen = await choosePort(wish(port), (text) => said.push(text));
  expect(chosen.port).toBeGreaterThan(port);
  expect(said).toEqual([`Port ${String(port)} is taken, so the router is on ${String(chosen.port)}.`]);
});

test("a port that was asked for and is taken is an error that names the flag", async () => {
  const port = await takenPort();
  const asked = { host: "127.0.0.1", port };
  await expect(choosePort({ ...wish(1), asked }, () => undefined)).rejects.toThrow(/--router-listen/);
});

test("a port promised to another part is not given twice", async () => {
  const port = await takenPort();
  for (const server of open.splice(0)) {
    server.close();
    await once(server, "close");
  }
  const chosen = await choosePort({ ...wish(port), promised: [port] }, () => undefined);
  expect(chosen.port).not.toBe(port);
});
