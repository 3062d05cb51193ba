import { once } from "node:events";
import { createServer } from "node:net";
import { afterAll, expect, test } from "vitest";
import { listeningInodes, portOwner } from "./port-owner.ts";

const server = createServer().listen(0, "127.0.0.1");
await once(server, "listening");
afterAll(() => {
  server.close();
});
const address = server.address();
const port = address !== null && typeof address === "object" ? address.port : 0;

test("B22 a port is told by the sockets that a process holds, not by who answers on it", async () => {
  expect(await portOwner(port, [process.pid])).toBe("theirs");
  expect(await portOwner(port, [])).toBe("others");
  expect(await portOwner(port, [process.pid, 2 ** 22 + 1])).toBe("unknown");
  expect(await portOwner(1, [process.pid])).toBe("nobody");
});

test("only sockets that listen count, and only on that port", () => {
  const table = [
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode",
    "   0: 0100007F:A028 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 111 1",
    "   1: 0100007F:A028 0100007F:9999 01 00000000:00000000 00:00000000 00000000     0        0 222 1",
    "   2: 00000000000000000000000000000000:A028 00000000:0000 0A 0:0 00:0 0 0 0 333 1",
  ].join("\n");
  expect(listeningInodes(table, 41_000)).toEqual(["111", "333"]);
  expect(listeningInodes("", 41_000)).toEqual([]);
});
