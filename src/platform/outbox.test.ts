import { once } from "node:events";
import { createServer, connect, type Socket } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Outbox } from "./outbox.ts";

let server: ReturnType<typeof createServer>;
let far: Socket;
let near: Socket;

beforeEach(async () => {
  server = createServer();
  await once(server.listen(0, "127.0.0.1"), "listening");
  const address = server.address();
  near = connect({ host: "127.0.0.1", port: typeof address === "object" ? (address?.port ?? 0) : 0 });
  [far] = (await once(server, "connection")) as [Socket];
  await once(near, "ready");
});
afterEach(() => {
  near.destroy();
  far.destroy();
  server.close();
});

/** Turns of a loop that has many connections, or one. */
async function turns(connections: number): Promise<void> {
  const outboxes = Array.from({ length: connections }, () => new Outbox(near));
  for (let turn = 0; turn < 64; turn++) {
    for (const outbox of outboxes) outbox.write(".");
    await nextTurn();
  }
}

/** What has come, up to and with the text. */
async function came(text: string): Promise<string> {
  let all = "";
  far.setEncoding("latin1");
  for await (const part of far.iterator({ destroyOnReturn: false })) {
    all += String(part);
    if (all.endsWith(text)) break;
  }
  return all;
}

test("with one connection everything is sent at once", async () => {
  await turns(1);
  const outbox = new Outbox(near);
  const before = near.bytesWritten;
  outbox.write("a\u00ff");
  outbox.send("b", [Buffer.from("c")], "d");
  expect(near.bytesWritten - before).toBe(5);
  expect(await came("bcd")).toMatch(/\.a\u00ffbcd$/);
});

describe("with many connections", () => {
  beforeEach(() => turns(8));

  test("what a turn has to say is one write, at its end", async () => {
    const outbox = new Outbox(near);
    const before = near.bytesWritten;
    outbox.write("a");
    outbox.send("\u00ff", [Buffer.from("b")]);
    expect([outbox.length, near.bytesWritten - before]).toEqual([3, 0]);
    expect(await came("b")).toMatch(/\.a\u00ffb$/);
    expect(outbox.length).toBe(0);
  });

  test("large pieces keep their place", async () => {
    const outbox = new Outbox(near);
    const large = Buffer.alloc(20_000, "x");
    outbox.send("<", [Buffer.from("a"), large, Buffer.from("b"), large], ">");
    outbox.write("!");
    expect((await came("!")).replaceAll(".", "")).toBe(`<a${String(large)}b${String(large)}>!`);
  });

  test("what is sent at once comes before what is written behind it", async () => {
    const outbox = new Outbox(near);
    outbox.write("one ");
    outbox.flush();
    near.write("two ");
    outbox.write("three");
    expect(await came("three")).toMatch(/one two three$/);
  });

  test("to a socket that is gone nothing is written, and nothing throws", async () => {
    const outbox = new Outbox(near);
    const before = near.bytesWritten;
    outbox.write("x");
    near.destroy();
    await once(near, "close");
    await nextTurn();
    expect(near.bytesWritten).toBe(before);
  });
});

test.each([
  [1, 8],
  [200, 8],
  [200, 1],
])("one that is full says when it has drained, %i times over, of %i", async (times, connections) => {
  await turns(connections);
  const outbox = new Outbox(near);
  expect(outbox.isFull).toBe(false);
  outbox.write("x".repeat(near.writableHighWaterMark * times));
  expect(outbox.isFull).toBe(true);
  const drained = new Promise<void>((resolve) => {
    outbox.onceDrained(resolve);
  });
  far.resume();
  await drained;
  expect(outbox.isFull).toBe(false);
});
