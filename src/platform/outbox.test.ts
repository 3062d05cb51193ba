import { once } from "node:events";
import { createServer, connect, type Socket } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
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

test("what a turn has to say is one write, and bytes are what the text's characters are", async () => {
  const outbox = new Outbox(near);
  outbox.write("a");
  outbox.write("\u00ff");
  expect([outbox.length, near.bytesWritten]).toEqual([2, 0]);
  const [bytes] = (await once(far, "data")) as [Buffer];
  expect(bytes).toEqual(Buffer.from([0x61, 0xff]));
  expect(outbox.length).toBe(0);
});

test("what is sent at once comes before what is written behind it", async () => {
  const outbox = new Outbox(near);
  outbox.write("one ");
  outbox.flush();
  near.write("two ");
  outbox.write("three");
  let text = "";
  for await (const bytes of far) {
    text += String(bytes);
    if (text.endsWith("three")) break;
  }
  expect(text).toBe("one two three");
});

test.each([1, 200])("one that is full says when it has drained, %s times over", async (times) => {
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

test("to a socket that is gone nothing is written, and nothing throws", async () => {
  const outbox = new Outbox(near);
  outbox.write("x");
  near.destroy();
  await once(near, "close");
  expect(near.bytesWritten).toBe(0);
});
