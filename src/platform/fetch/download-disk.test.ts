import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { MIB, seeded, sha256Of, TWELVE, TWELVE_SHA, useDownloads } from "../../../test/fakes/download-fixture.ts";
import { serveContent } from "../../../test/fakes/file-server.ts";
import { bytes } from "../../core/ids.ts";

const fix = useDownloads();

describe("B62 several at once, and no lock that holds", () => {
  test("within one process one download serves all, and each hears of its progress", async () => {
    const server = await fix.serve((request, response) => {
      serveContent(request, response, { bytes: TWELVE });
    });
    const one = fix.downloader();
    const heard = [0, 0, 0];
    const answers = await Promise.all(
      heard.map((_, i) =>
        one.file({
          url: `${server.origin}/f`,
          target: fix.target(),
          onProgress: ({ done }) => {
            heard[i] = done;
          },
        }),
      ),
    );
    expect(answers.map((answer) => answer.ok)).toEqual([true, true, true]);
    expect(heard).toEqual([12, 12, 12]);
    expect(server.requests).toHaveLength(1);
  });

  test("two that know nothing of each other each write a file of their own", async () => {
    const content = { bytes: seeded(20 * MIB), etag: '"v1"' };
    const server = await fix.serve((request, response) => {
      serveContent(request, response, content);
    });
    const request = { url: `${server.origin}/f`, target: fix.target(), sha256: sha256Of(content.bytes) };
    const answers = await Promise.all(
      [fix.downloader(), fix.downloader(), fix.downloader()].map((one) => one.file(request)),
    );
    expect(answers.map((answer) => answer.ok)).toEqual([true, true, true]);
    expect(sha256Of(await readFile(fix.target()))).toBe(sha256Of(content.bytes));
    expect(await fix.filesLeft()).toEqual(["model.gguf"]);
  });

  test("one that gives up does not stop the other; the last that gives up stops the download", async () => {
    const waiting: (() => void)[] = [];
    const server = await fix.serve((_request, response) => {
      response.writeHead(200, { "content-length": "12", etag: '"v1"' });
      response.write(TWELVE.subarray(0, 6));
      waiting.push(() => response.end(TWELVE.subarray(6)));
    });
    const one = fix.downloader();
    const [first, second] = [new AbortController(), new AbortController()];
    const request = { url: `${server.origin}/f`, target: fix.target(), bytes: 12 };
    const answers = [one.file({ ...request, signal: first.signal }), one.file({ ...request, signal: second.signal })];
    while (waiting.length === 0) await new Promise((resolve) => setImmediate(resolve));
    first.abort();
    expect(await answers[0]).toMatchObject({ ok: false, error: { kind: "aborted" } });
    waiting[0]?.();
    expect(await answers[1]).toMatchObject({ ok: true, value: { bytes: bytes(12) } });
  });

  test("an abort ends the connection and keeps what is there for the next", async () => {
    const closed = Promise.withResolvers<undefined>();
    const server = await fix.serve((request, response, number) => {
      if (number > 1) {
        serveContent(request, response, { bytes: TWELVE, etag: '"v1"' });
        return;
      }
      response.on("close", () => {
        closed.resolve(undefined);
      });
      response.writeHead(200, { "content-length": "12", etag: '"v1"' });
      response.write(TWELVE.subarray(0, 6));
    });
    const abort = new AbortController();
    const one = fix.downloader();
    const request = { url: `${server.origin}/f`, target: fix.target(), bytes: 12 };
    const running = one.file({ ...request, signal: abort.signal });
    while ((await fix.filesLeft()).length < 2) await new Promise((resolve) => setImmediate(resolve));
    abort.abort();
    expect(await running).toMatchObject({ ok: false, error: { kind: "aborted" } });
    await closed.promise;
    expect(await one.file(request)).toMatchObject({ ok: true, value: { sha256: TWELVE_SHA } });
  });
});

describe("B58 the disk is full", () => {
  test("a file that cannot fit is refused before its first byte, with what is needed and what is free", async () => {
    const server = await fix.serve((_request, response) => {
      response.writeHead(200, { "content-length": String(2 ** 50) });
      response.write("a");
    });
    const got = await fix.downloader().file({ url: `${server.origin}/f`, target: fix.target() });
    expect(got).toMatchObject({ ok: false, error: { kind: "no-space" } });
    expect(got.ok ? "" : got.error.message).toMatch(/1125899906842624 bytes\) are needed .* \(\d+ bytes\) are free/);
    expect(await fix.filesLeft()).toEqual([]);
  });

  test("a disk that becomes full under the file ends as no-space, is given its room back, and is not tried again", async (t) => {
    const mounted = await run("mount", ["-t", "tmpfs", "-o", "size=1m", "tmpfs", fix.folder()]);
    if (mounted !== undefined) t.skip(`a small disk cannot be mounted here: ${mounted}`);
    try {
      const server = await fix.serve((_request, response) => {
        response.write(Buffer.alloc(MIB));
        response.end(Buffer.alloc(2 * MIB));
      });
      const one = fix.downloader();
      const request = { url: `${server.origin}/f`, target: fix.target() };
      expect(await one.file(request)).toMatchObject({ ok: false, error: { kind: "no-space" } });
      expect(await fix.filesLeft()).toEqual([]);
      expect(await one.file(request)).toMatchObject({ ok: false, error: { kind: "no-space" } });
      expect(server.requests).toHaveLength(1);
      expect(await run("mount", ["-o", "remount,size=8m", fix.folder()])).toBeUndefined();
      expect(await one.file(request)).toMatchObject({ ok: true, value: { bytes: 3 * MIB } });
    } finally {
      await run("umount", [fix.folder()]);
    }
  });
});

/** Undefined when it went well, otherwise why not. */
async function run(program: string, args: readonly string[]): Promise<string | undefined> {
  try {
    await promisify(execFile)(program, args);
    return undefined;
  } catch (error) {
    return String(error);
  }
}
