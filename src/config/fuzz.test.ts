import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ok } from "../core/result.ts";
import { parseAgentConfig } from "./agent.ts";
import { parseManifest } from "./manifest.ts";
import { parseServerConfig } from "./server.ts";

const around = { file: "x", env: { A: "1" }, readSecret: () => ok("s") };

/** Each answers with a value or with problems that name a place, whatever it is given. */
const READERS = {
  agent: (text: string | Uint8Array) => parseAgentConfig({ ...around, text }),
  server: (text: string | Uint8Array) => parseServerConfig({ ...around, text }),
  manifest: (text: string | Uint8Array) => parseManifest(text, "x"),
};

function expectAnswer(text: string | Uint8Array): void {
  const lines = typeof text === "string" ? text.split(/\r\n?|\n/).length : text.length + 1;
  for (const read of Object.values(READERS)) {
    const answer = read(text);
    if (answer.ok) continue;
    expect(answer.error.length).toBeGreaterThan(0);
    for (const { line, column, message } of answer.error) {
      expect(line).toBeGreaterThanOrEqual(1);
      expect(line).toBeLessThanOrEqual(lines + 1);
      expect(column).toBeGreaterThanOrEqual(1);
      expect(message).not.toBe("");
    }
  }
}

const VALID = [
  "server: http://a:1\nfabrics:\n  - name: x\n    hcas: [m0, m1]\nsupervisor: {log_lines: 5}\nlabels: {a: b}\n",
  "listen: 7443\nrouter:\n  listen: ''\nengines:\n  vllm: {version: 1.2.3}\nnodes:\n  lost_after: 5m\n",
  "kind: Profile\nname: a\nmodel:\n  source: hf:a/b\nargs: ['x', \"y\"]\nenv:\n  A: b\n---\nkind: Alias\nname: b\ntargets:\n  - profile: a\n",
  "kind: Upstream\nname: c\nurl: https://a:1/v1\napi_key: file:/k\nca: /c.pem\nmodels: {a: b, c: d}\nconcurrency: 4\n",
];

const PIECES = [
  "\t",
  "  ",
  "\n",
  "- ",
  ": ",
  "{",
  "}",
  "[",
  "]",
  "&a ",
  "*a",
  "<<: ",
  "${A}",
  "${B",
  "'",
  '"',
  "|",
  ">",
  "---\n",
  "%YAML 1.1\n",
  "!x ",
  "null",
  "~",
  "-1",
  "1e999",
  "__proto__",
  "\u0000",
  "\uFEFF",
  "# ",
  "\r",
  "? ",
  "5 seconds",
  "é",
  "𝄞",
  "\ud800",
];

describe("nothing that is read makes the reader fall over", () => {
  test("any text", () => {
    fc.assert(fc.property(fc.string({ unit: "binary", maxLength: 200 }), expectAnswer), { numRuns: 200 });
  });

  test("any bytes", () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 100 }), expectAnswer), { numRuns: 200 });
  });

  test("pieces of YAML", () => {
    const text = fc.array(fc.oneof(fc.constantFrom(...PIECES), fc.string({ maxLength: 4 })), { maxLength: 40 });
    fc.assert(
      fc.property(
        text.map((parts) => parts.join("")),
        expectAnswer,
      ),
      { numRuns: 400 },
    );
  });

  test("valid files with something put in or taken out", () => {
    const change = fc.record({ at: fc.nat(), drop: fc.nat({ max: 6 }), put: fc.constantFrom("", ...PIECES) });
    const changed = fc
      .tuple(fc.constantFrom(...VALID), fc.array(change, { minLength: 1, maxLength: 3 }))
      .map(([text, changes]) =>
        changes.reduce((now, { at, drop, put }) => {
          const place = at % (now.length + 1);
          return now.slice(0, place) + put + now.slice(place + drop);
        }, text),
      );
    fc.assert(fc.property(changed, expectAnswer), { numRuns: 600 });
  });

  test("any value in JSON", () => {
    fc.assert(fc.property(fc.json(), expectAnswer), { numRuns: 200 });
  });
});
