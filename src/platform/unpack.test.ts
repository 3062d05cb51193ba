import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, readlink, rm, stat, symlink, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { unpackTar } from "./unpack.ts";

let base = "";
let source = "";
let target = "";
let archive = "";

beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), "llmgw-unpack-"));
  source = join(base, "source");
  target = join(base, "target");
  archive = join(base, "build.tar.gz");
  await mkdir(source);
  await mkdir(target);
});
afterEach(async () => {
  await rm(base, { recursive: true });
});

/** With the system's own tar, which stores names as they are told. */
function pack(...args: readonly string[]): void {
  execFileSync("tar", ["-czf", archive, "-C", source, ...args]);
}

async function write(name: string, content = name, mode = 0o644): Promise<void> {
  await mkdir(join(source, name, ".."), { recursive: true });
  await writeFile(join(source, name), content, { mode });
}

describe("unpackTar", () => {
  test("B72 files, modes and links between library names, whatever their order", async () => {
    await write("build/bin/llama-server", "#!/bin/sh\n", 0o755);
    await write("build/bin/libllama.so.0.0.9281");
    await symlink("libllama.so.0.0.9281", join(source, "build/bin/libllama.so.0"));
    await symlink("libllama.so.0", join(source, "build/bin/libllama.so"));
    await symlink("bin/llama-server", join(source, "build/server"));
    await symlink("../bin", join(source, "build/bin/self"));
    pack(
      "build/bin/libllama.so.0",
      "build/bin/libllama.so",
      "build/server",
      "build/bin/self",
      "build/bin/llama-server",
      "build/bin/libllama.so.0.0.9281",
    );
    expect(await unpackTar(archive, target)).toEqual({ ok: true, value: undefined });
    expect((await stat(join(target, "build/bin/llama-server"))).mode & 0o777).toBe(0o755);
    expect(await readlink(join(target, "build/bin/libllama.so"))).toBe("libllama.so.0");
    expect(await readFile(join(target, "build/bin/libllama.so"), "utf8")).toBe("build/bin/libllama.so.0.0.9281");
  });

  test("a hard link within the folder is kept, and no file becomes set-user-id", async () => {
    await write("a", "same", 0o755);
    execFileSync("ln", [join(source, "a"), join(source, "b")]);
    execFileSync("chmod", ["4755", join(source, "a")]);
    pack("a", "b");
    expect((await unpackTar(archive, target)).ok).toBe(true);
    expect(await readFile(join(target, "b"), "utf8")).toBe("same");
    expect((await stat(join(target, "a"))).mode & 0o7000).toBe(0);
  });

  test.each([
    { name: "an entry above", args: ["-P", "--transform=s,^a$,../evil,", "a"], says: "the entry ../evil is outside" },
    { name: "an entry above, hidden", args: ["-P", "--transform=s,^a$,x/../../evil,", "a"], says: "is outside" },
    {
      name: "an absolute entry",
      args: ["-P", "--transform=s,^a$,/tmp/evil,", "a"],
      says: "the entry /tmp/evil is outside",
    },
    { name: "a link to an absolute path", args: ["absolute"], says: "the link absolute leads outside, to /etc/passwd" },
    { name: "a link above", args: ["above"], says: "the link above leads outside, to ../secret" },
    { name: "a link above by way of another link", args: ["sub/up", "sneaky"], says: "the link sneaky leads outside" },
    { name: "a hard link above", args: ["-P", "--transform=s,^a$,../a,RSh", "a", "hard"], says: "leads outside" },
    { name: "a pipe", args: ["pipe"], says: "pipe is a FIFO" },
  ])("refuses $name and writes nothing", async ({ args, says }) => {
    await write("a");
    execFileSync("ln", [join(source, "a"), join(source, "hard")]);
    await symlink("/etc/passwd", join(source, "absolute"));
    await symlink("../secret", join(source, "above"));
    await mkdir(join(source, "sub"));
    await symlink("..", join(source, "sub/up"));
    await symlink("sub/up/../secret", join(source, "sneaky"));
    execFileSync("/usr/bin/mkfifo", [join(source, "pipe")]);
    pack(...args);
    const outcome = await unpackTar(archive, target);
    expect(outcome.ok ? "unpacked" : outcome.error).toMatchObject({
      kind: "bad-archive",
      message: expect.stringContaining(says) as string,
    });
    expect(await readdir(target)).toEqual([]);
    expect((await readdir(base)).toSorted()).toEqual(["build.tar.gz", "source", "target"]);
  });

  test("refuses an archive that ends too early, and what is none", async () => {
    await write("a", "x".repeat(100_000));
    pack("a");
    await truncate(archive, 100);
    expect(await unpackTar(archive, target)).toMatchObject({ ok: false, error: { kind: "bad-archive" } });
    await writeFile(archive, "<html>not here</html>");
    expect(await unpackTar(archive, target)).toMatchObject({ ok: false, error: { kind: "bad-archive" } });
  });

  test("refuses before writing what the disk cannot hold", async (context) => {
    const small = join(base, "small");
    await mkdir(small);
    try {
      execFileSync("/bin/mount", ["-t", "tmpfs", "-o", "size=1m", "tmpfs", small], { stdio: "ignore" });
    } catch {
      context.skip("a small disk can be mounted by root only");
    }
    try {
      await write("a", "x".repeat(3_000_000));
      pack("a");
      const outcome = await unpackTar(archive, small);
      expect(outcome.ok ? "unpacked" : outcome.error).toMatchObject({ kind: "no-space" });
      expect(await readdir(small)).toEqual([]);
    } finally {
      execFileSync("/bin/umount", [small]);
    }
  });
});
