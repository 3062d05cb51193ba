import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { afterEach, expect, test } from "vitest";
import { millis } from "../core/ids.ts";
import { callMeeting, type Meeting, openMeeting } from "./meeting.ts";

const HOST = "127.0.0.1";
let open: Meeting | undefined;
afterEach(async () => {
  await open?.close();
  open = undefined;
});

/** A port that was free a moment ago. */
async function freePort(): Promise<number> {
  const probe = createServer().listen(0, HOST);
  await once(probe, "listening");
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, "close");
  return port;
}

const call = (port: number, line: string, signal = new AbortController().signal) =>
  callMeeting({ host: HOST, port, line, timeout: millis(5000), signal });

async function meeting(answer: (line: string) => string | undefined): Promise<number> {
  const port = await freePort();
  const opened = await openMeeting({ host: HOST, port }, answer);
  if (!opened.ok) throw new Error(opened.error);
  open = opened.value;
  return port;
}

test("a line is answered with a line", async () => {
  const port = await meeting((line) => `heard ${line}`);
  expect(await call(port, "hello")).toEqual({ ok: true, value: "heard hello" });
});

test("whoever is not meant is hung up on", async () => {
  const port = await meeting(() => undefined);
  expect(await call(port, "GET / HTTP/1.1")).toMatchObject({ ok: false });
});

test("nobody there, and a call that is given up", async () => {
  expect(await call(await freePort(), "hello")).toMatchObject({
    ok: false,
    error: expect.stringContaining("ECONNREFUSED") as unknown,
  });
  const mute = createServer((socket) => socket.on("error", () => undefined)).listen(0, HOST);
  await once(mute, "listening");
  const giveUp = new AbortController();
  const asked = call((mute.address() as AddressInfo).port, "hello", giveUp.signal);
  giveUp.abort();
  expect(await asked).toEqual({ ok: false, error: "given up" });
  mute.close();
});

test("a port that is taken says so", async () => {
  const port = await meeting(() => "here");
  const second = await openMeeting({ host: HOST, port }, () => "there");
  expect(second).toMatchObject({ ok: false, error: expect.stringContaining("EADDRINUSE") as unknown });
});

test("once it is closed the port is whoever's comes next, although there were calls: nothing lingers on it", async () => {
  const port = await meeting((line) => line);
  await Promise.all(Array.from({ length: 20 }, (_, n) => call(port, String(n))));
  await open?.close();
  open = undefined;
  const next = createServer().listen({ host: "0.0.0.0", port, exclusive: true });
  await once(next, "listening");
  next.close();
});

test("a stranger that sends without end is cut off", async () => {
  const stranger = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.write("x".repeat(100_000));
  }).listen(0, HOST);
  await once(stranger, "listening");
  const answer = await call((stranger.address() as AddressInfo).port, "hello");
  expect(answer).toMatchObject({ ok: false });
  stranger.close();
});
