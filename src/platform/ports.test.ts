import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { expect, test } from "vitest";
import { isPortFree, readEphemeralRange } from "./ports.ts";

test("B31 a port that an outgoing connection uses is not free", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const taken = (server.address() as AddressInfo).port;
  const client = connect(taken, "127.0.0.1");
  await once(client, "connect");
  const own = client.localPort ?? 0;
  expect(await isPortFree("127.0.0.1", taken)).toBe(false);
  expect(await isPortFree("0.0.0.0", taken)).toBe(false);
  expect(await isPortFree("127.0.0.1", own)).toBe(false);
  client.destroy();
  server.close();
  await once(server, "close");
  expect(await isPortFree("127.0.0.1", taken)).toBe(true);
});

test("the kernel's own range is known", async () => {
  const range = await readEphemeralRange();
  expect(range?.first).toBeLessThan(range?.last ?? 0);
});
