import { randomUUID } from "node:crypto";
import { gzipSync } from "node:zlib";
import { create, fromJson, type JsonValue, toBinary } from "@bufbuild/protobuf";
import { overSockets, type Site } from "../contract/site.ts";
import { AdminService } from "../../src/wire/gen/llmgw/v1/admin_pb.js";
import { JoinService } from "../../src/wire/gen/llmgw/v1/join_pb.js";
import { RouterService } from "../../src/wire/gen/llmgw/v1/router_pb.js";
import type { Chance } from "./chance.ts";
import { mutatedBytes, mutatedText, mutatedValue } from "./mutate.ts";
import type { OpenTarget, Target } from "./target.ts";

const METHODS = [AdminService, JoinService, RouterService].flatMap(({ typeName, methods }) =>
  methods.map((method) => ({ path: `/${typeName}/${method.name}`, method })),
);
type Called = (typeof METHODS)[number];

const PROFILE = "kind: Profile\nname: smol\nserves: [smol, default]\nmodel: { source: hf:a/b }\nreplicas: 2\n";

/** What a caller in order would send, by method; every field that is read is in it. */
const BODIES: Readonly<Record<string, JsonValue>> = {
  Apply: { manifest: PROFILE, fileName: "x.yaml", files: [{ name: "y.yaml", text: "kind: Alias\nname: b\n" }] },
  Plan: { manifest: PROFILE, fileName: "x.yaml" },
  Scale: { profile: "smol", replicas: 2 },
  Restart: { profile: "smol" },
  Cordon: { node: "n1", cordoned: true },
  Drain: { node: "n1" },
  Delete: { kind: "Profile", name: "smol" },
  Logs: { replica: "smol-1", tail: 10, follow: false, rank: 0 },
  CreateKey: {
    name: "app",
    models: ["smol"],
    limits: { rpm: 10, tpm: 100, concurrency: 2 },
    expiresAt: "2100-01-01T00:00:00Z",
  },
  RevokeKey: { key: "app" },
  CreateToken: { ttlSeconds: 60, join: { node: "n1", uses: 1 } },
  RevokeToken: { token: "x" },
  GetUsage: { since: "2026-01-01T00:00:00Z" },
  GetRequest: { id: "req-1" },
  ListEvents: { after: 1, limit: 10, subject: "n1" },
  ListNodes: { id: "n1" },
  Explain: { name: "smol" },
  Join: {
    nodeId: "n1",
    signingRequest: "-----BEGIN CERTIFICATE REQUEST-----\nAA==\n-----END CERTIFICATE REQUEST-----\n",
  },
};

const TYPES = [
  ...["application/json", "application/proto", "application/connect+json", "application/connect+proto"],
  ...["application/grpc", "application/grpc-web+proto", "application/grpc-web-text", "text/plain", ""],
  ...["application/json; charset=utf-16", "application/x-www-form-urlencoded", "application/json\u00e9", "*/*"],
];
const PIECES = [
  "{",
  "}",
  "[",
  "]",
  ":",
  ",",
  '"',
  "null",
  "\\u0000",
  "\\ud800",
  "1e400",
  "-",
  '"__proto__":{},',
  '"body":',
];

/** More than one message may have. */
const HUGE = Buffer.alloc(34 * 2 ** 20, 0x20);
/** 64 MiB of spaces in 64 KiB. */
const BOMB = gzipSync(Buffer.alloc(64 * 2 ** 20, 0x20));

interface Call {
  readonly type: string;
  readonly body: Buffer;
  readonly headers: Readonly<Record<string, string>>;
}

function jsonCall(chance: Chance, sample: JsonValue): Call {
  const text = JSON.stringify(chance.is(0.9) ? mutatedValue(chance, sample) : sample);
  const body = chance.is(0.3) ? mutatedText(chance, text, PIECES) : text;
  return { type: "application/json", body: Buffer.from(body), headers: {} };
}

function protoCall(chance: Chance, { method }: Called, sample: JsonValue): Call {
  const bytes = binary(method, sample);
  return {
    type: "application/proto",
    body: chance.is(0.9) ? mutatedBytes(chance, bytes) : chance.bytes(300),
    headers: {},
  };
}

/** Samples need not follow the schema to the letter: a field that it does not know is left out. */
const binary = ({ input }: Called["method"], sample: JsonValue): Uint8Array => {
  try {
    return toBinary(input, fromJson(input, sample, { ignoreUnknownFields: true }));
  } catch {
    return toBinary(input, create(input));
  }
};

const enveloped = (chance: Chance, { type, body, headers }: Call): Call => {
  const head = Buffer.alloc(5);
  head.writeUInt8(chance.is(0.7) ? 0 : chance.below(256), 0);
  head.writeUInt32BE(chance.is(0.7) ? body.length : chance.below(2 ** 32), 1);
  return { type: type.replace("/", "/connect+"), body: Buffer.concat([head, body]), headers };
};

const deepJson = (chance: Chance): Buffer => Buffer.from("[".repeat(1 + chance.length(200_000)));

function callOf(chance: Chance, called: Called): Call {
  const sample = BODIES[called.method.name] ?? {};
  const plain = chance.is(0.6) ? jsonCall(chance, sample) : protoCall(chance, called, sample);
  const isStream = called.method.methodKind !== "unary";
  const call = isStream !== chance.is(0.1) ? enveloped(chance, plain) : plain;
  const way = chance.random();
  if (way < 0.1) return { ...call, type: chance.pick(TYPES) };
  if (way < 0.13) return { ...call, body: deepJson(chance) };
  if (way < 0.14) return { ...call, body: HUGE.subarray(0, chance.pick([2 ** 20, 33 * 2 ** 20, HUGE.length])) };
  if (way < 0.15) return { ...call, body: BOMB, headers: { "content-encoding": "gzip" } };
  if (way < 0.2) return { ...call, headers: strangeHeaders(chance) };
  return call;
}

const strangeHeaders = (chance: Chance): Readonly<Record<string, string>> => ({
  [chance.pick([
    "content-encoding",
    "connect-timeout-ms",
    "connect-protocol-version",
    "grpc-timeout",
    "accept-encoding",
  ])]: chance.pick(["gzip", "br", "-1", "0", "1", "99999999999999999999", "2", "identity", "x".repeat(5_000), "1S"]),
});

/** What gRPC's table of codes asks for where a message is no protobuf or is packed in a way that was not agreed on. */
const OF_PROTOCOL = /"code":"internal","message":"(parse binary: |received compressed envelope)/;
/** A stack or a class of ours in an answer means that nobody thought of this input. */
const BLUNDER = /"code": ?"(internal|unknown)"|TypeError|RangeError|is not a function|undefined \(reading|at file:/;

class AdminDoor implements OpenTarget {
  readonly #site: Site;

  private constructor(site: Site) {
    this.#site = site;
  }

  static async open(): Promise<AdminDoor> {
    return new AdminDoor(await overSockets());
  }

  async once(chance: Chance): Promise<void> {
    const called = chance.pick(METHODS);
    const { type, body, headers } = callOf(chance, called);
    const token = chance.is(0.95)
      ? this.#site.token
      : chance.pick(["", "x", "llmgw-", "\u00e9", this.#site.token.slice(1)]);
    const asked = new Request(`${this.#site.url ?? ""}${called.path}`, {
      method: "POST",
      headers: { ...headers, ...(type === "" ? {} : { "content-type": type }), authorization: `Bearer ${token}` },
      body: new Uint8Array(body),
      // A stream that is let in, such as a router's, stays open: nobody waits for its end.
      signal: AbortSignal.timeout(2_000),
    });
    const answer = await answerOf(asked);
    if (answer === undefined) return;
    if (BLUNDER.test(answer.text) && !OF_PROTOCOL.test(answer.text)) {
      throw new Error(`${called.path} (${type}) answers ${String(answer.status)}: ${answer.text.slice(0, 300)}`);
    }
  }

  async check(): Promise<void> {
    const name = `k-${randomUUID()}`;
    await this.#site.admin.createKey({ name });
    await this.#site.admin.revokeKey({ key: name });
    for (const { name: profile } of (await this.#site.admin.listProfiles({})).profiles) {
      await this.#site.admin.delete({ kind: "Profile", name: profile });
    }
    const health = await fetch(`${this.#site.url ?? ""}/readyz`);
    if (!health.ok) throw new Error(`/readyz answers ${String(health.status)}: ${await health.text()}`);
  }

  close(): Promise<void> {
    return this.#site.stop();
  }
}

/** Undefined: the connection was ended, which is an answer to what is too large. */
async function answerOf(request: Request): Promise<{ readonly status: number; readonly text: string } | undefined> {
  try {
    const response = await fetch(request);
    return { status: response.status, text: await response.text() };
  } catch {
    return undefined;
  }
}

/** The admin API and the other calls of the control plane's port, over HTTP/1.1. */
export const adminTarget: Target = { name: "admin API", atOnce: 2, open: () => AdminDoor.open() };
