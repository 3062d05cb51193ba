import { expect, test } from "vitest";
import { millis } from "../../core/ids.ts";
import { newTrace, type Trace } from "../account.ts";
import { tokensOf } from "./charge.ts";

const request = { requestId: "r", path: "/v1/chat/completions", visit: { key: "k" } };
const trace = (more: Partial<Trace>): Trace => ({
  ...newTrace(request, { method: "POST", headers: {} }, millis(0)),
  bytesIn: 400,
  handedOverAt: millis(1),
  ...more,
});
const counted = { prompt: 200, cached: 150, completion: 100 };
const stream = { firstTokenAt: millis(2), bytesOut: 2_000 };

test.each<{ name: string; is: Partial<Trace>; outcome: string; tokens: number }>([
  { name: "as the engine counted", is: { usage: counted }, outcome: "complete", tokens: 300 },
  { name: "counted, and then the client left", is: { usage: counted, ...stream }, outcome: "client_gone", tokens: 300 },
  { name: "a stream without counts", is: stream, outcome: "complete", tokens: 110 },
  { name: "a stream that the client left", is: stream, outcome: "client_gone", tokens: 110 },
  { name: "a stream that broke", is: stream, outcome: "broke", tokens: 110 },
  { name: "left while the prompt was read", is: {}, outcome: "client_gone", tokens: 100 },
  { name: "a whole answer without counts", is: { bytesOut: 50 }, outcome: "complete", tokens: 0 },
  { name: "refused by the router", is: {}, outcome: "refused", tokens: 0 },
  { name: "refused by the engine", is: { bytesOut: 90 }, outcome: "refused_by_engine", tokens: 0 },
  { name: "never sent to an engine", is: { handedOverAt: undefined }, outcome: "client_gone", tokens: 0 },
  { name: "images", is: { bytesIn: 24 << 20 }, outcome: "client_gone", tokens: 32_768 },
])("$name: $tokens", ({ is, outcome, tokens }) => {
  expect(tokensOf(trace(is), { outcome })).toBe(tokens);
});
