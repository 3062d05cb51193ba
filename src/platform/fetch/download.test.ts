import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import {
  breakAfter,
  MIB,
  seeded,
  sha256Of,
  TWELVE,
  TWELVE_SHA,
  useDownloads,
} from "../../../test/fakes/download-fixture.ts";
import { type Content, serveContent } from "../../../test/fakes/file-server.ts";
import { type Millis, millis } from "../../core/ids.ts";
import { systemClock } from "../clock.ts";
import { SAMPLE_EVERY } from "./meter.ts";

const fix = useDownloads();

describe("a file that comes as it should", () => {
  test("is whole, hashed, and alone in its folder", async () => {
    const server = await fix.serve((request, response) => {
      serveContent(request, response, { bytes: TWELVE });
    });
    const got = await fix
      .downloader()
      .file({ url: `${server.origin}/f`, target: join(fix.folder(), "deep", "er", "f") });
    expect(got).toEqual({
      ok: true,
      value: { path: join(fix.folder(), "deep", "er", "f"), bytes: 12, sha256: TWELVE_SHA },
    });
    expect(await readdir(join(fix.folder(), "deep", "er"))).toEqual(["f"]);
  });

  test("comes in ranges over several connections when it is large, every byte once", async () => {
    const content = { bytes: seeded(33 * MIB + 17), etag: '"v1"' };
    const server = await fix.serve((request, response) => {
      serveContent(request, response, content);
    });
    const seen: number[] = [];
    const got = await fix.downloader({ parts: 3 }).file({
      url: `${server.origin}/f`,
      target: fix.target(),
      onProgress: (progress) => seen.push(progress.done),
    });
    expect(got).toMatchObject({ ok: true, value: { sha256: sha256Of(content.bytes) } });
    const asked = server.requests.map(({ headers }) => /^bytes=(\d+)-(\d*)$/.exec(String(headers["range"])));
    const sizes = asked.map((range) => Number(range?.[2] || content.bytes.length - 1) + 1 - Number(range?.[1]));
    expect(sizes.length).toBeGreaterThan(5);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(content.bytes.length);
    expect(seen.at(-1)).toBe(content.bytes.length);
  });

  test("tells how far it came before it tells that it failed, and nothing after that", async () => {
    const server = await fix.serve((_, response) => {
      breakAfter(response, TWELVE.subarray(0, 5), { etag: '"v1"' });
    });
    let [late, seen] = [0, 0];
    const after = (delay: Millis, callback: () => void): (() => void) => {
      const isReport = delay === SAMPLE_EVERY;
      late += isReport ? 1 : 0;
      const cancel = systemClock.after(delay, callback);
      return () => {
        late -= isReport ? 1 : 0;
        cancel();
      };
    };
    const retry = { tries: 1, firstDelay: millis(1), maxDelay: millis(1) };
    const got = await fix.downloader({ retry, clock: { ...systemClock, after } }).file({
      url: `${server.origin}/f`,
      target: fix.target(),
      onProgress: ({ done }) => (seen = done),
    });
    expect([got.ok, seen, late]).toEqual([false, 5, 0]);
  });

  test("may be empty", async () => {
    const server = await fix.serve((request, response) => {
      serveContent(request, response, { bytes: Buffer.alloc(0) });
    });
    const got = await fix.downloader().file({ url: `${server.origin}/f`, target: fix.target() });
    expect(got).toMatchObject({ ok: true, value: { bytes: 0 } });
    expect(await readFile(fix.target(), "utf8")).toBe("");
  });

  test("may come without a length", async () => {
    const server = await fix.serve((_request, response) => {
      response.write("abcdef");
      response.end("ghijkl");
    });
    expect(await fix.downloader().file({ url: `${server.origin}/f`, target: fix.target() })).toMatchObject({
      ok: true,
    });
    expect(await readFile(fix.target(), "utf8")).toBe("abcdefghijkl");
  });

  test("may come from a server that refuses every range", async () => {
    const server = await fix.serve((request, response) => {
      if (request.headers.range === undefined) response.end(TWELVE);
      else response.writeHead(416).end();
    });
    expect(await fix.downloader().file({ url: `${server.origin}/f`, target: fix.target() })).toMatchObject({
      ok: true,
    });
  });

  test("is not fetched again when it is there with the right hash", async () => {
    await writeFile(fix.target(), TWELVE);
    const server = await fix.serve((_request, response) => response.destroy());
    const got = await fix
      .downloader()
      .file({ url: `${server.origin}/f`, target: fix.target(), sha256: TWELVE_SHA.toUpperCase() });
    expect(got).toMatchObject({ ok: true, value: { bytes: 12, sha256: TWELVE_SHA } });
    expect(server.requests).toHaveLength(0);
  });
});

describe("what was begun is gone on with", () => {
  test("by a later call, at the first byte that is missing", async () => {
    const server = await fix.serve((request, response, number) => {
      if (number === 1) breakAfter(response, TWELVE.subarray(0, 6), { etag: '"v1"' });
      else serveContent(request, response, { bytes: TWELVE, etag: '"v1"' });
    });
    const request = { url: `${server.origin}/f`, target: fix.target() };
    const first = await fix
      .downloader({ retry: { tries: 1, firstDelay: millis(1), maxDelay: millis(1) } })
      .file(request);
    expect(first).toMatchObject({ ok: false, error: { kind: "network" } });
    expect(await fix.filesLeft()).toHaveLength(2);
    expect(await fix.downloader().file(request)).toMatchObject({ ok: true, value: { sha256: TWELVE_SHA } });
    expect(server.requests[1]?.headers).toMatchObject({ range: "bytes=6-", "if-range": '"v1"' });
    expect(await fix.filesLeft()).toEqual(["model.gguf"]);
  });

  test("B51 server ignores Range and sends 200: what was begun is thrown away", async () => {
    const server = await fix.serve((_request, response, number) => {
      if (number === 1) breakAfter(response, TWELVE.subarray(0, 6), {});
      else response.writeHead(200, { "content-length": "12" }).end(TWELVE);
    });
    const got = await fix.downloader().file({ url: `${server.origin}/f`, target: fix.target(), sha256: TWELVE_SHA });
    expect(server.requests[1]?.headers).toMatchObject({ range: "bytes=6-" });
    expect(got).toMatchObject({ ok: true, value: { bytes: 12, sha256: TWELVE_SHA } });
  });

  test("B51 server stops answering ranges in the middle of a large file", async () => {
    const content = { bytes: seeded(20 * MIB), etag: '"v1"' };
    const server = await fix.serve((request, response, number) => {
      if (number > 1) delete request.headers.range;
      serveContent(request, response, content);
    });
    const got = await fix.downloader({ parts: 2 }).file({ url: `${server.origin}/f`, target: fix.target() });
    expect(got).toMatchObject({ ok: true, value: { sha256: sha256Of(content.bytes) } });
  });

  test("unless the file at the server has changed: then from the start", async () => {
    const other = Buffer.from("ABCDEFGHIJKL");
    const server = await fix.serve((request, response, number) => {
      if (number === 1) breakAfter(response, TWELVE.subarray(0, 6), { etag: '"v1"' });
      else serveContent(request, response, { bytes: other, etag: '"v2"' });
    });
    expect(await fix.downloader().file({ url: `${server.origin}/f`, target: fix.target() })).toMatchObject({
      ok: true,
    });
    expect(await readFile(fix.target())).toEqual(other);
  });

  test("nor when it changed between two ranges of one download", async () => {
    const versions = [1, 2].map((seed): Content => ({ bytes: seeded(20 * MIB, seed), etag: `"v${String(seed)}"` }));
    const server = await fix.serve((request, response, number) => {
      const content = versions[number === 1 ? 0 : 1];
      if (content !== undefined) serveContent(request, response, content);
    });
    const got = await fix
      .downloader({ parts: 1 })
      .file({ url: `${server.origin}/f`, target: fix.target(), bytes: 20 * MIB });
    expect(got.ok).toBe(true);
    const both = await fix.downloader({ parts: 2 }).file({ url: `${server.origin}/f`, target: fix.target() });
    expect(both).toMatchObject({ ok: true, value: { sha256: sha256Of(versions[1]?.bytes ?? TWELVE) } });
  });

  test("a body that ends too early is no file", async () => {
    const server = await fix.serve((request, response, number) => {
      if (number === 1)
        response.writeHead(206, { "content-range": "bytes 0-11/12", "content-length": "6" }).end("abcdef");
      else serveContent(request, response, { bytes: TWELVE });
    });
    expect(await fix.downloader().file({ url: `${server.origin}/f`, target: fix.target() })).toMatchObject({
      ok: true,
    });
    expect(await readFile(fix.target(), "utf8")).toBe("abcdefghijkl");
  });

  test("B63 the transfer stalls: given up after the idle time, resumed, finished", async () => {
    const server = await fix.serve((request, response, number) => {
      if (number > 1) {
        serveContent(request, response, { bytes: TWELVE });
        return;
      }
      response.writeHead(200, { "content-length": "12" });
      response.write(TWELVE.subarray(0, 6));
    });
    const got = await fix
      .downloader({ idleTimeout: millis(100) })
      .file({ url: `${server.origin}/f`, target: fix.target(), bytes: 12 });
    expect(got).toMatchObject({ ok: true, value: { sha256: TWELVE_SHA } });
    expect(server.requests.map(({ headers }) => headers["range"])).toEqual([undefined, "bytes=6-"]);
  });

  test.each([
    { name: "in silence from the start", first: "" },
    { name: "after the same six bytes each time, without ranges", first: "abcdef" },
  ])("B63 always stalling $name ends as stalled", async ({ first }) => {
    const server = await fix.serve((_request, response) => {
      if (first === "") return;
      response.writeHead(200, { "content-length": "12" });
      response.write(first);
    });
    const got = await fix
      .downloader({ idleTimeout: millis(50) })
      .file({ url: `${server.origin}/f`, target: fix.target(), bytes: 12 });
    expect(got).toMatchObject({ ok: false, error: { kind: "stalled" } });
    expect(server.requests.length).toBeGreaterThanOrEqual(3);
    expect(server.requests.length).toBeLessThanOrEqual(5);
  });

  test("a slow transfer is no stalled one, however long it takes", async () => {
    const server = await fix.serve((_request, response) => {
      response.writeHead(200, { "content-length": "12" });
      let sent = 0;
      const timer = setInterval(() => {
        response.write(TWELVE.subarray(sent, sent + 1));
        sent += 1;
        if (sent === 12) clearInterval(timer);
      }, 110);
    });
    // Shorter than the whole takes, and far longer than a busy machine holds up one byte.
    const got = await fix
      .downloader({ idleTimeout: millis(1_000) })
      .file({ url: `${server.origin}/f`, target: fix.target(), bytes: 12 });
    expect(got.ok).toBe(true);
    expect(server.requests).toHaveLength(1);
  });
});

describe("B54 right size, wrong bytes", () => {
  test("are fetched again from the start, and the third answer is right", async () => {
    const server = await fix.serve((request, response, number) => {
      serveContent(request, response, { bytes: number < 3 ? Buffer.from("abcdefghijkX") : TWELVE });
    });
    const got = await fix
      .downloader()
      .file({ url: `${server.origin}/f`, target: fix.target(), sha256: TWELVE_SHA, bytes: 12 });
    expect(got).toMatchObject({ ok: true, value: { sha256: TWELVE_SHA } });
    expect(server.requests.map(({ headers }) => headers["range"])).toEqual([undefined, undefined, undefined]);
  });

  test("for ever: checksum, with both hashes, and nothing left", async () => {
    const wrong = Buffer.from("abcdefghijkX");
    const server = await fix.serve((request, response) => {
      serveContent(request, response, { bytes: wrong });
    });
    const got = await fix.downloader().file({ url: `${server.origin}/f`, target: fix.target(), sha256: TWELVE_SHA });
    expect(got).toMatchObject({ ok: false, error: { kind: "checksum" } });
    expect(got.ok ? "" : got.error.message).toContain(TWELVE_SHA);
    expect(got.ok ? "" : got.error.message).toContain(sha256Of(wrong));
    expect(server.requests).toHaveLength(3);
    expect(await fix.filesLeft()).toEqual([]);
  });
});
