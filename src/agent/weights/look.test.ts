import { afterEach, expect, test } from "vitest";
import { serveContent, startFileServer } from "../../../test/fakes/file-server.ts";
import { type HubFile, startHub } from "../../../test/fakes/hub-server.ts";
import { millis } from "../../core/ids.ts";
import type { LookedModel } from "../../core/model-facts.ts";
import { GgufWriter } from "../../engines/llamacpp/gguf-writer.ts";
import { tinyGguf } from "../../engines/llamacpp/tiny-gguf.ts";
import { resolveEngine } from "../../engines/list.ts";
import { systemClock } from "../../platform/clock.ts";
import { createDownloader } from "../../platform/fetch/download.ts";
import { lookAtSource } from "./look.ts";

const opened: { close(): Promise<void> }[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((one) => one.close()));
});

const open = <T extends { close(): Promise<void> }>(one: T): T => {
  opened.push(one);
  return one;
};

async function look(source: string, endpoint = "http://127.0.0.1:9"): Promise<LookedModel> {
  const env = { HF_ENDPOINT: endpoint, HF_HUB_CACHE: "/nowhere", HF_TOKEN: "hf_secret" };
  const retry = { tries: 1, firstDelay: millis(0), maxDelay: millis(0) };
  const downloader = open(createDownloader({ env, clock: systemClock, retry }));
  return await lookAtSource(
    { source, files: [], sha256: {} },
    {
      choose: (offered) => resolveEngine("auto", offered),
      context: { downloader, env },
      signal: AbortSignal.timeout(20_000),
    },
  );
}

const large = (data: Uint8Array): HubFile => ({ data: Buffer.from(data), isLarge: true });
const small = (text: string): HubFile => ({ data: Buffer.from(text), isLarge: false });

/** A model whose weights are long and whose header is not. */
function longModel(): Uint8Array {
  const writer = new GgufWriter();
  writer.string("general.architecture", "llama");
  writer.uint32("llama.block_count", 7);
  return writer.bytes([{ name: "w", shape: [3_000_000], values: new Float32Array(3_000_000) }]);
}

test("a GGUF on the Hub: its header and its size, without fetching it; the token stays with the Hub", async () => {
  const hub = open(await startHub({ "acme/m-GGUF": { commit: "c1", files: { "m-Q4_K_M.gguf": large(longModel()) } } }));
  const looked = await look("hf:acme/m-GGUF", hub.endpoint);
  expect(looked).toMatchObject({ problem: "", weights: longModel().length, facts: { layers: 7, format: "gguf" } });
  const [range, ...others] = hub.cdn.requests.map(({ headers }) => headers["range"]);
  expect([range, others]).toEqual(["bytes=0-262143", []]);
  expect(hub.cdn.requests.map(({ headers }) => headers["authorization"])).toEqual([undefined]);
});

test("safetensors on the Hub: config.json and the sizes, although nothing here loads them", async () => {
  const files = {
    "config.json": small(JSON.stringify({ num_attention_heads: 64, num_hidden_layers: 3 })),
    "model.safetensors": large(Buffer.alloc(1000)),
  };
  const hub = open(await startHub({ "acme/m": { commit: "c1", files } }));
  expect(await look("hf:acme/m", hub.endpoint)).toMatchObject({
    problem: "",
    facts: { heads: 64, layers: 3, format: "safetensors" },
  });
});

test.each([
  { name: "a server that sends ranges", ranges: true },
  { name: "B51 a server that ignores Range and sends 200 with everything", ranges: false },
])("a GGUF at an address: $name", async ({ ranges }) => {
  const bytes = Buffer.from(longModel());
  const server = open(
    await startFileServer((request, response) => {
      if (ranges) serveContent(request, response, { bytes });
      else response.writeHead(200, { "content-length": String(bytes.length) }).end(bytes);
    }),
  );
  expect(await look(`${server.origin}/m.gguf`)).toMatchObject({
    problem: "",
    weights: bytes.length,
    facts: { layers: 7 },
  });
});

test("safetensors at an address that does not say how large they are: their own header does", async () => {
  const header = Buffer.from(JSON.stringify({ a: { dtype: "BF16", shape: [500], data_offsets: [0, 1000] } }));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(header.length));
  const server = open(
    await startFileServer((request, response) => {
      if (request.url !== "/model.safetensors") response.writeHead(404).end();
      else response.writeHead(200, { "transfer-encoding": "chunked" }).end(Buffer.concat([length, header]));
    }),
  );
  expect(await look(`${server.origin}/model.safetensors`)).toMatchObject({ weights: 1000, facts: undefined });
});

test.each([
  {
    name: "a page",
    answer: "<html>down</html>",
    problem: "m.gguf: it does not begin with GGUF, so it is no GGUF file",
  },
  { name: "half a header", answer: tinyGguf().subarray(0, 900), problem: "m.gguf: the file ends within its header" },
])("what is no model is said: $name", async ({ answer, problem }) => {
  const bytes = Buffer.from(answer);
  const server = open(
    await startFileServer((request, response) => {
      serveContent(request, response, { bytes });
    }),
  );
  expect(await look(`${server.origin}/m.gguf`)).toMatchObject({ facts: undefined, problem });
});

test("no file, no Hub, and a source that only its node knows: unknown, with the reason", async () => {
  const server = open(
    await startFileServer((_, response) => {
      response.writeHead(404).end();
    }),
  );
  const missing = await look(`${server.origin}/m.gguf`);
  expect(missing).toMatchObject({ facts: undefined, weights: undefined });
  expect(missing.problem).toContain("answered 404");
  expect((await look("hf:acme/m")).problem).toContain("cannot be reached");
  expect(await look("file:/srv/m.gguf")).toMatchObject({ problem: "such a source is only known to its node" });
});
