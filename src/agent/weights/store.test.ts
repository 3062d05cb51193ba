import { readdir, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { sha256Of } from "../../../test/fakes/download-fixture.ts";
import type { HubRepo } from "../../../test/fakes/hub-server.ts";
import { request, spec, useWeights } from "../../../test/fakes/weights-fixture.ts";
import { ok } from "../../core/result.ts";

const fix = useWeights();
const COMMIT = "0123456789abcdef0123456789abcdef01234567";
const large = (text: string) => ({ data: Buffer.from(text), isLarge: true });
const small = (text: string) => ({ data: Buffer.from(text), isLarge: false });
const repo = (files: HubRepo["files"], rest: Partial<HubRepo> = {}): HubRepo => ({ commit: COMMIT, files, ...rest });

const tiny = repo({
  "README.md": small("read me"),
  "config.json": small("{}"),
  "m-Q4_K_M.gguf": large("four bits"),
  "m-Q8_0.gguf": large("eight bits of it"),
});

describe("a model from the Hub", () => {
  test("is fetched as the engine chooses, checked, and found by a later start without asking anyone", async () => {
    const hub = await fix.hub({ "org/m": tiny });
    const env = { HF_ENDPOINT: hub.endpoint };
    const got = await fix.store(env).ensure(spec("hf:org/m"), request());
    const mainPath = join(fix.dir(), `hf--org--m--${COMMIT}`, "m-Q4_K_M.gguf");
    expect(got).toMatchObject({ ok: true, value: { mainPath, bytes: 9, files: [mainPath] } });
    expect(await readFile(mainPath, "utf8")).toBe("four bits");
    const asked = hub.hub.requests.length + hub.cdn.requests.length;

    const later = fix.store(env);
    expect(await later.ensure(spec("hf:org/m"), request())).toEqual(got);
    expect(await later.held()).toEqual([{ source: "hf:org/m", path: mainPath, bytes: 9 }]);
    expect(hub.hub.requests.length + hub.cdn.requests.length).toBe(asked);
  });

  test("the token goes to the Hub and to nobody else", async () => {
    const hub = await fix.hub({ "org/m": { ...tiny, token: "hf_secret" } });
    const env = { HF_ENDPOINT: hub.endpoint, HF_TOKEN_PATH: await fix.place("token", "hf_secret\n") };
    expect(await fix.store(env).ensure(spec("hf:org/m"), request())).toMatchObject({ ok: true });
    expect(hub.hub.requests.every(({ headers }) => headers["authorization"] === "Bearer hf_secret")).toBe(true);
    expect(hub.cdn.requests.length).toBeGreaterThan(0);
    expect(hub.cdn.requests.some(({ headers }) => "authorization" in headers)).toBe(false);
  });

  test("every file comes from the commit that the branch was when it was asked", async () => {
    const hub = await fix.hub({ "org/m": tiny });
    await fix.store({ HF_ENDPOINT: hub.endpoint }).ensure(spec("hf:org/m"), request());
    const paths = hub.hub.requests.map(({ path }) => path);
    expect(paths.filter((path) => path.includes("main"))).toEqual(["/api/models/org/m/revision/main"]);
    expect(paths.filter((path) => path.includes("/resolve/")).every((path) => path.includes(COMMIT))).toBe(true);
  });

  test("B57 shards stay apart, under their own names, and the first is the main", async () => {
    const names = ["q/m-00002-of-00002.gguf", "q/m-00001-of-00002.gguf"] as const;
    const hub = await fix.hub({
      "org/m": repo({ [names[0]]: large("two"), [names[1]]: large("one"), "o.gguf": large("o") }),
    });
    const store = fix.store({ HF_ENDPOINT: hub.endpoint });
    const got = await store.ensure(spec("hf:org/m/q/m-00001-of-00002.gguf"), request());
    const folder = join(fix.dir(), `hf--org--m--${COMMIT}`);
    expect(got).toMatchObject({ ok: true, value: { mainPath: join(folder, names[1]), bytes: 6 } });
    expect(await readdir(join(folder, "q"))).toEqual(["m-00001-of-00002.gguf", "m-00002-of-00002.gguf"]);
  });

  test.each([
    { name: "shorter", harm: (path: string) => truncate(path, 3) },
    { name: "longer", harm: (path: string) => writeFile(path, "four bits and more") },
    { name: "empty", harm: (path: string) => writeFile(path, "") },
    { name: "gone", harm: (path: string) => rm(path) },
  ])("a file that has become $name is not held, and fetched again", async ({ harm }) => {
    const hub = await fix.hub({ "org/m": tiny });
    const store = fix.store({ HF_ENDPOINT: hub.endpoint });
    const got = await store.ensure(spec("hf:org/m"), request());
    const path = got.ok ? got.value.mainPath : "";
    await harm(path);
    expect(await store.held()).toEqual([]);
    expect(await store.ensure(spec("hf:org/m"), request())).toEqual(got);
    expect(await readFile(path, "utf8")).toBe("four bits");
  });

  test("the profile's globs decide which files, the engine which of them it is pointed at", async () => {
    const hub = await fix.hub({ "org/m": tiny });
    const store = fix.store({ HF_ENDPOINT: hub.endpoint });
    const got = await store.ensure(spec("hf:org/m", { files: ["*Q8_0*", "*.json"] }), request());
    expect(got.ok ? got.value.files.map((file) => file.split("/").at(-1)) : []).toEqual(["config.json", "m-Q8_0.gguf"]);
    expect(got).toMatchObject({ ok: true, value: { mainPath: expect.stringMatching(/m-Q8_0\.gguf$/) as string } });
  });

  test("an engine that wants the folder gets the folder", async () => {
    const hub = await fix.hub({ "org/m": tiny });
    const store = fix.store({ HF_ENDPOINT: hub.endpoint });
    const choose = () => ok({ files: ["config.json", "README.md"], main: "" });
    const got = await store.ensure(spec("hf:org/m"), request({ choose }));
    expect(got).toMatchObject({ ok: true, value: { mainPath: join(fix.dir(), `hf--org--m--${COMMIT}`) } });
  });

  test.each([
    {
      name: "gated",
      rest: { token: "other", isGated: true },
      source: "hf:org/m",
      kind: "auth",
      says: "accept its terms",
    },
    { name: "private", rest: { token: "other" }, source: "hf:org/m", kind: "auth", says: "HF_TOKEN" },
    { name: "of no such revision", rest: {}, source: "hf:org/m@v9", kind: "not-found", says: "v9" },
    { name: "without the named file", rest: {}, source: "hf:org/m/x.gguf", kind: "not-found", says: "m-Q8_0.gguf" },
  ])(
    "B59 a repository that is $name fails for good, in words, with nothing left",
    async ({ rest, source, kind, says }) => {
      const hub = await fix.hub({ "org/m": { ...tiny, ...rest } });
      const got = await fix.store({ HF_ENDPOINT: hub.endpoint, HF_TOKEN: "hf_secret" }).ensure(spec(source), request());
      expect(got).toMatchObject({ ok: false, error: { kind, retry: false } });
      expect(got.ok ? "" : got.error.message).toContain(says);
      expect(got.ok ? "" : got.error.message).toContain("hf:org/m");
      expect(JSON.stringify(got)).not.toContain("hf_secret");
      expect(await readdir(fix.dir()).catch(() => [])).toEqual([]);
    },
  );

  test("a model that no engine can use is refused with the engine's reason", async () => {
    const hub = await fix.hub({ "org/m": repo({ "model.safetensors": large("x") }) });
    const got = await fix.store({ HF_ENDPOINT: hub.endpoint }).ensure(spec("hf:org/m"), request());
    expect(got).toMatchObject({ ok: false, error: { kind: "choice", retry: false } });
    expect(got.ok ? "" : got.error.message).toContain("safetensors");
  });

  test("a pin that contradicts what is published fails before anything is fetched", async () => {
    const hub = await fix.hub({ "org/m": tiny });
    const sha256 = { "m-Q4_K_M.gguf": "b".repeat(64) };
    const got = await fix.store({ HF_ENDPOINT: hub.endpoint }).ensure(spec("hf:org/m", { sha256 }), request());
    expect(got).toMatchObject({ ok: false, error: { kind: "checksum", retry: false } });
    expect(got.ok ? "" : got.error.message).toContain(sha256Of(Buffer.from("four bits")));
    expect(hub.cdn.requests).toHaveLength(0);
  });

  test("two that want it at once fetch it once, and both hear of it", async () => {
    const hub = await fix.hub({ "org/m": tiny });
    const store = fix.store({ HF_ENDPOINT: hub.endpoint });
    const heard = [0, 0];
    const both = await Promise.all(
      heard.map((_, i) =>
        store.ensure(
          spec("hf:org/m"),
          request({
            onProgress: ({ bytesDone }) => {
              heard[i] = bytesDone;
            },
          }),
        ),
      ),
    );
    expect(both[0]).toEqual(both[1]);
    expect(both[0]?.ok).toBe(true);
    expect(heard).toEqual([9, 9]);
    expect(hub.cdn.requests).toHaveLength(1);
  });

  test("an abort is an abort", async () => {
    const hub = await fix.hub({ "org/m": tiny });
    const store = fix.store({ HF_ENDPOINT: hub.endpoint });
    const got = await store.ensure(spec("hf:org/m"), request({ signal: AbortSignal.abort() }));
    expect(got).toMatchObject({ ok: false, error: { kind: "aborted", retry: false } });
  });
});

test("B58 a model that cannot fit is refused before its first byte", async () => {
  const files = { "m.gguf": { ...large("weights"), size: 2 ** 50 } };
  const hub = await fix.hub({ "org/m": repo(files) });
  const got = await fix.store({ HF_ENDPOINT: hub.endpoint }).ensure(spec("hf:org/m"), request());
  expect(got).toMatchObject({ ok: false, error: { kind: "no-space", retry: true } });
  expect(got.ok ? "" : got.error.message).toMatch(/\d+ bytes\) are needed in .* \(\d+ bytes\) are free/);
  expect(hub.cdn.requests).toHaveLength(0);
});
