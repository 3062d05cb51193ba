import { describe, expect, test } from "vitest";
import { millis } from "../core/ids.ts";
import { newTrace, type Trace } from "./account.ts";
import { TokenRates, tokenUseOf } from "./token-use.ts";

const request = { requestId: "r", path: "/v1/chat/completions", visit: { key: "k", keyId: "key-1" } };
const trace = (more: Partial<Trace>): Trace => ({
  ...newTrace(request, { method: "POST", headers: {} }, millis(0)),
  bytesIn: 400,
  handedOverAt: millis(1),
  ...more,
});
const counted = { prompt: 200, cached: 150, completion: 100 };
const stream = { isStream: true, firstTokenAt: millis(2), bytesOut: 2_000, events: 10 };
const atStart = { prompt: 77, cached: 3, completion: 1 };

describe("what a request counts as", () => {
  test.each<{ name: string; is: Partial<Trace>; outcome: string; want: readonly [number, number, boolean] }>([
    { name: "as the engine counted", is: { usage: counted }, outcome: "complete", want: [200, 100, false] },
    {
      name: "counted, and then the client left",
      is: { usage: counted, ...stream },
      outcome: "client_gone",
      want: [200, 100, false],
    },
    { name: "a stream without counts", is: stream, outcome: "complete", want: [100, 10, true] },
    { name: "a stream that the client left", is: stream, outcome: "client_gone", want: [100, 10, true] },
    { name: "a stream that broke", is: stream, outcome: "broke", want: [100, 10, true] },
    {
      name: "a stream of Messages that broke: its prompt was counted",
      is: { ...stream, usage: atStart, usageAtStart: atStart },
      outcome: "broke",
      want: [77, 10, true],
    },
    {
      name: "a stream of Messages that had said all",
      is: { ...stream, usage: { ...atStart, completion: 12 }, usageAtStart: atStart },
      outcome: "client_gone",
      want: [77, 12, false],
    },
    { name: "left while the prompt was read", is: {}, outcome: "client_gone", want: [100, 0, true] },
    { name: "a whole answer without counts", is: { bytesOut: 50 }, outcome: "complete", want: [0, 0, false] },
    { name: "refused by the router", is: {}, outcome: "refused", want: [0, 0, false] },
    { name: "refused by the engine", is: { bytesOut: 90 }, outcome: "refused_by_engine", want: [0, 0, false] },
    { name: "never sent to an engine", is: { handedOverAt: undefined }, outcome: "client_gone", want: [0, 0, false] },
    { name: "images", is: { bytesIn: 24 << 20 }, outcome: "client_gone", want: [32_768, 0, true] },
  ])("$name", ({ is, outcome, want }) => {
    const { prompt, completion, estimated } = tokenUseOf(trace(is), { outcome }, new TokenRates());
    expect([prompt, completion, estimated]).toEqual(want);
  });
});

test("what answers counted teaches what is guessed", () => {
  const rates = new TokenRates();
  const usage = { prompt: 200, cached: 0, completion: 30 };
  for (let n = 0; n < 100; n++) {
    tokenUseOf(trace({ ...stream, events: 14, usage, bytesIn: 1_600 }), { outcome: "complete" }, rates);
  }
  const guessed = tokenUseOf(trace({ ...stream, bytesIn: 800 }), { outcome: "broke" }, rates);
  expect(guessed).toEqual({ prompt: 101, cached: 0, completion: 30, estimated: true });
});

test("what was put together of several answers teaches nothing", () => {
  const rates = new TokenRates();
  const usage = { prompt: 900, cached: 0, completion: 900 };
  const use = tokenUseOf(trace({ ...stream, usage, isPieced: true }), { outcome: "complete" }, rates);
  expect(use).toEqual({ ...usage, estimated: true });
  expect(rates).toEqual(new TokenRates());
});
