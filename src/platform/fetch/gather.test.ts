import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { serveContent } from "../../../test/fakes/file-server.ts";
import { MIB, seeded, sha256Of, useDownloads } from "../../../test/fakes/download-fixture.ts";
import { pieceRange } from "../../core/pieces.ts";
import type { Downloader } from "./download.ts";
import type { Gathering } from "./gather.ts";

const fix = useDownloads();
const signal = new AbortController().signal;
const DATA = seeded(9 * MIB);
const SHA = sha256Of(DATA);
const PIECES = 3;

const part = (index: number): Buffer => {
  const { start, end } = pieceRange(DATA.length, index);
  return DATA.subarray(start, end);
};
const note = (index: number) => ({ index, sha256: sha256Of(part(index)) });

async function open(downloader: Downloader, sha256 = SHA): Promise<Gathering> {
  const opened = await downloader.gather({ target: fix.target(), size: DATA.length, sha256, signal });
  if (!opened.ok) throw new Error(opened.error.message);
  return opened.value;
}

describe("a file put together from pieces", () => {
  test("in any order: whole, under its name, with the hashes of its pieces", async () => {
    const gathering = await open(fix.downloader());
    for (const index of [2, 0, 1]) expect(await gathering.put(note(index), part(index))).toBe(true);
    const file = await gathering.finish(SHA);
    expect(file).toMatchObject({ ok: true, value: { bytes: DATA.length, sha256: SHA } });
    expect(file.ok && file.value.pieces).toEqual([0, 1, 2].map((index) => note(index).sha256));
    expect((await readFile(fix.target())).equals(DATA)).toBe(true);
    expect(await fix.filesLeft()).toEqual(["model.gguf"]);
  });

  test.each([
    ["other bytes", Buffer.alloc(part(0).length)],
    ["too few", part(0).subarray(1)],
    ["too many", Buffer.concat([part(0), Buffer.of(1)])],
  ])("%s are not taken for a piece", async (_name, data) => {
    const gathering = await open(fix.downloader());
    expect(await gathering.put(note(0), data)).toBe(false);
    expect(gathering.notes()).toEqual([]);
    await gathering.discard();
    expect(await fix.filesLeft()).toEqual([]);
  });

  test("whose pieces do not make the whole leaves nothing", async () => {
    const gathering = await open(fix.downloader());
    for (let index = 0; index < PIECES; index += 1) await gathering.put(note(index), part(index));
    expect(await gathering.finish("0".repeat(64))).toMatchObject({ ok: false, error: { kind: "checksum" } });
    expect(await fix.filesLeft()).toEqual([]);
  });

  test("can be read from while it is on its way, and no longer", async () => {
    const downloader = fix.downloader();
    const gathering = await open(downloader);
    await gathering.put(note(1), part(1));
    const shown = downloader.open(fix.target());
    expect(shown?.notes()).toEqual([note(1)]);
    expect(Buffer.from((await shown?.read(pieceRange(DATA.length, 1))) ?? []).equals(part(1))).toBe(true);
    await gathering.release();
    expect(downloader.open(fix.target())).toBeUndefined();
  });

  test("goes on with what was left, piece by piece as their hashes say", async () => {
    const downloader = fix.downloader();
    const first = await open(downloader);
    await first.put(note(0), part(0));
    await first.put(note(2), part(2));
    await first.release();
    const second = await open(downloader);
    expect(await second.recover(note(0))).toBe(true);
    expect(await second.recover(note(1))).toBe(false);
    expect(await second.recover({ index: 2, sha256: "0".repeat(64) })).toBe(false);
    await second.release();
    const other = await open(downloader, sha256Of(Buffer.from("something else")));
    expect(await other.recover(note(0))).toBe(false);
    await other.discard();
  });

  test("is gone on with from its source too, and the other way round", async () => {
    const server = await fix.serve((request, response) => {
      serveContent(request, response, { bytes: DATA });
    });
    const downloader = fix.downloader({ parts: 1 });
    const gathering = await open(downloader);
    await gathering.put(note(0), part(0));
    await gathering.put(note(1), part(1));
    await gathering.release();
    const got = await downloader.file({ url: `${server.origin}/m`, target: fix.target(), sha256: SHA, pieces: true });
    expect(got).toMatchObject({ ok: true, value: { sha256: SHA, pieces: [0, 1, 2].map((i) => note(i).sha256) } });
    expect(server.requests.map(({ headers }) => headers["range"])).toEqual([`bytes=${String(8 * MIB)}-`]);
  });
});

test("a download shows its pieces from the first on while it runs", async () => {
  const { promise: mayEnd, resolve: end } = Promise.withResolvers<undefined>();
  const server = await fix.serve((_, response) => {
    response.writeHead(200, { "content-length": DATA.length });
    response.write(DATA.subarray(0, 5 * MIB));
    void mayEnd.then(() => response.end(DATA.subarray(5 * MIB)));
  });
  const downloader = fix.downloader({ parts: 1 });
  const file = downloader.file({ url: `${server.origin}/m`, target: fix.target(), pieces: true });
  await expect.poll(() => downloader.open(fix.target())?.notes()).toEqual([note(0)]);
  end(undefined);
  expect(await file).toMatchObject({ ok: true, value: { sha256: SHA, pieces: [0, 1, 2].map((i) => note(i).sha256) } });
});
