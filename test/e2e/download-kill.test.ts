import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { once } from "node:events";
import { afterEach, beforeEach, expect, test } from "vitest";
import { seeded, sha256Of } from "../fakes/download-fixture.ts";

const SIZE = 40 * 1024 * 1024 + 12_345;
const KILLS = 10;
/** What leaves the server in one go: the kill comes between two of these. */
const CHUNK = 64 * 1024;
let folder = "";
const cleanups: (() => Promise<unknown>)[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "llmgw-kill-"));
});
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  await rm(folder, { recursive: true });
});

/** Mulberry32. */
function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

interface ByteRange {
  readonly start: number;
  readonly end: number;
}

interface RangeServer {
  readonly url: string;
  /** How often each byte of the file was sent. */
  readonly sent: Uint16Array;
  /** How often each byte was in a range that was under way at a kill: so often it may come again. */
  readonly cut: Uint16Array;
  total(): number;
  /** Called when so many bytes in all have been sent. */
  atByte(count: number, callback: () => void): void;
}

/** Resolves when more can be written, or nobody reads any more. */
function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      response.off("drain", done).off("close", done);
      resolve();
    };
    response.on("drain", done).on("close", done);
  });
}

async function startRangeServer(content: Buffer): Promise<RangeServer> {
  const sent = new Uint16Array(content.length);
  const cut = new Uint16Array(content.length);
  // A connection may be asked for its next range while the last bytes of the one before are still being written.
  const lastTwo = new Map<Socket, readonly ByteRange[]>();
  const noteAsked = (socket: Socket, range: ByteRange): void => {
    if (!lastTwo.has(socket)) {
      socket.once("close", () => {
        for (const { start, end } of lastTwo.get(socket) ?? [])
          for (let i = start; i < end; i += 1) cut[i] = 1 + (cut[i] ?? 0);
        lastTwo.delete(socket);
      });
    }
    lastTwo.set(socket, [...(lastTwo.get(socket) ?? []), range].slice(-2));
  };
  let total = 0;
  let trap = { count: Infinity, callback: (): void => undefined };
  const send = async (response: ServerResponse, start: number, end: number): Promise<void> => {
    for (let at = start; at < end && !response.destroyed; at += CHUNK) {
      const chunk = content.subarray(at, Math.min(end, at + CHUNK));
      if (!response.write(chunk)) await drained(response);
      for (let i = at; i < at + chunk.length; i += 1) sent[i] = (sent[i] ?? 0) + 1;
      total += chunk.length;
      if (total < trap.count) continue;
      const { callback } = trap;
      trap = { count: Infinity, callback: () => undefined };
      callback();
    }
    response.end();
  };
  const server = createServer((request, response) => {
    const [, first = "0", last = ""] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? "") ?? [];
    const start = Number(first);
    const end = last === "" ? content.length : Number(last) + 1;
    noteAsked(request.socket, { start, end });
    response.writeHead(206, {
      etag: '"v1"',
      "content-length": String(end - start),
      "content-range": `bytes ${first}-${String(end - 1)}/${String(content.length)}`,
    });
    response.on("error", () => undefined);
    void send(response, start, end);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  cleanups.push(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  });
  return {
    url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/model.gguf`,
    sent,
    cut,
    total: () => total,
    atByte: (count, callback) => {
      trap = { count, callback };
    },
  };
}

function startDownload(args: readonly string[]): { readonly child: ChildProcess; readonly exited: Promise<unknown> } {
  const program = fileURLToPath(new URL("./downloading.ts", import.meta.url));
  const child = spawn(process.execPath, [program, ...args], { stdio: ["ignore", "ignore", "inherit"] });
  const exited = once(child, "exit");
  cleanups.push(async () => {
    child.kill("SIGKILL");
    await exited;
  });
  return { child, exited };
}

test.each([
  { name: "whose hash is known", isHashKnown: true },
  { name: "of which the server knows only an ETag", isHashKnown: false },
])("a download killed ten times at random bytes ends right, a file $name", async ({ isHashKnown }) => {
  const seed = Number(process.env["LLMGW_TEST_SEED"] ?? Date.now() % 2 ** 31);
  process.stdout.write(`LLMGW_TEST_SEED=${String(seed)}\n`);
  const random = seededRandom(seed);
  const content = seeded(SIZE, seed % 1000);
  const server = await startRangeServer(content);
  const target = join(folder, "model.gguf");
  const args = [server.url, target, isHashKnown ? sha256Of(content) : ""];

  for (let kill = 0; kill < KILLS; kill += 1) {
    const { child, exited } = startDownload(args);
    // Within what is left and with room for the kills still to come, so that each of them meets a running download.
    const missing = server.sent.reduce((count, times) => count + (times === 0 ? 1 : 0), 0);
    const share = Math.floor((missing / (KILLS - kill)) * random());
    server.atByte(server.total() + Math.max(1, share), () => child.kill("SIGKILL"));
    await exited;
    expect(child.signalCode).toBe("SIGKILL");
    expect(await readdir(folder)).not.toContain("model.gguf");
  }
  const { child, exited } = startDownload(args);
  await exited;
  expect(child.exitCode).toBe(0);

  expect(sha256Of(await readFile(target))).toBe(sha256Of(content));
  expect(await readdir(folder)).toEqual(["model.gguf"]);
  expect(server.sent.every((times) => times >= 1)).toBe(true);
  process.stdout.write(`${String(server.total() - SIZE)} bytes came again after ${String(KILLS)} kills\n`);
  const tooOften = server.sent.findIndex((times, i) => times > 1 + (server.cut[i] ?? 0));
  expect(tooOften, "a byte came again although its range was not under way at a kill").toBe(-1);
});
