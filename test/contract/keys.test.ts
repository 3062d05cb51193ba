import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { toJsonString } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { ListKeysResponseSchema } from "../../src/wire/gen/llmgw/v1/admin_pb.js";
import { ownFolder, reasons, router, site, soon, WAYS } from "./callers.ts";
import { overSockets, type Site } from "./site.ts";

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");
const refusalOf = (call: Promise<unknown>): Promise<{ code: Code; message: string }> =>
  call.then(
    () => {
      throw new Error("it was not refused");
    },
    (error: unknown) => ({ code: ConnectError.from(error).code, message: ConnectError.from(error).rawMessage }),
  );

describe.each(Object.entries(WAYS))("client keys %s", (_, start) => {
  test("a key is told once, routers hear of its hash, and of its end", async () => {
    const on = await site(start);
    const early = router(on, "early");
    const { key, secret } = await on.admin.createKey({ name: "app", models: ["m"], limits: { requestsPerMinute: 5 } });
    expect(key).toMatchObject({ name: "app", state: "active", models: ["m"], createdBy: "the admin token" });
    expect(secret.startsWith(key?.prefix ?? "?")).toBe(true);
    const late = router(on, "late");
    for (const one of [early, late]) {
      await expect.poll(() => one.keys?.keys, soon).toMatchObject([{ name: "app", sha256: sha256(secret) }]);
      expect(one.keys?.keys[0]?.limits).toMatchObject({ requestsPerMinute: 5, concurrency: undefined });
    }
    const listed = await on.admin.listKeys({});
    expect(listed.keys).toMatchObject([{ name: "app", prefix: key?.prefix }]);
    expect(toJsonString(ListKeysResponseSchema, listed)).not.toContain(secret);
    expect(toJsonString(ListKeysResponseSchema, listed)).not.toContain(sha256(secret));

    await on.admin.revokeKey({ key: "app" });
    for (const one of [early, late]) await expect.poll(() => one.keys?.keys, soon).toEqual([]);
    expect((await on.admin.listKeys({})).keys).toEqual([]);
    expect((await on.admin.listKeys({ revoked: true })).keys).toMatchObject([{ name: "app", state: "revoked" }]);
    expect(await reasons(on, "app")).toEqual(["KeyCreated", "KeyRevoked"]);
  });

  test.each([
    {
      name: "a name that is taken",
      call: (on: Site) => on.admin.createKey({ name: "app" }),
      code: Code.AlreadyExists,
      says: "revoke it first",
    },
    {
      name: "a name that is none",
      call: (on: Site) => on.admin.createKey({ name: "a b" }),
      code: Code.InvalidArgument,
      says: '"a b"',
    },
    {
      name: "everything wrong at once",
      call: (on: Site) =>
        on.admin.createKey({
          name: "x",
          models: [" m"],
          limits: { tokensPerDay: -1, tokensPerMinute: 0.5 },
          expiresAt: timestampFromMs(1_000),
        }),
      code: Code.InvalidArgument,
      says: /" m" is no model.*\ntokensPerMinute .*\ntokensPerDay .*\n.*expired already/,
    },
    {
      name: "a key that is not there",
      call: (on: Site) => on.admin.revokeKey({ key: "apo" }),
      code: Code.NotFound,
      says: 'Did you mean "app"',
    },
    {
      name: "a whole key that is not there, which is not repeated",
      call: (on: Site) => on.admin.revokeKey({ key: "sk-llmgw-zzzzzzzzzzz" }),
      code: Code.NotFound,
      says: /^there is no client key that begins so\.$/,
    },
  ])("$name is refused in words", async ({ call, code, says }) => {
    const on = await site(start);
    await on.admin.createKey({ name: "app" });
    const refusal = await refusalOf(call(on));
    expect(refusal).toMatchObject({ code });
    expect(refusal.message).toMatch(says);
    expect((await on.admin.listKeys({})).keys).toHaveLength(1);
  });
});

test("keys outlive the control plane, and no file of it holds one", async () => {
  const dataDir = await ownFolder("keys");
  const first = await overSockets({ dataDir });
  const { secret } = await first.admin.createKey({ name: "app" });
  await first.stop();
  for (const file of await readdir(dataDir))
    expect(await readFile(join(dataDir, file), "latin1")).not.toContain(secret);
  const on = await site(overSockets, { dataDir });
  const one = router(on);
  await expect.poll(() => one.keys?.keys, soon).toMatchObject([{ name: "app", sha256: sha256(secret) }]);
});
