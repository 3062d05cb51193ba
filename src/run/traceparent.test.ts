import { trace } from "@opentelemetry/api";
import { expect, test } from "vitest";
import { parentOf, traceparentOf } from "./traceparent.ts";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const SPAN = "b7ad6b7169203331";

test.each([
  ["sampled", `00-${TRACE}-${SPAN}-01`, `00-${TRACE}-${SPAN}-01`],
  ["not sampled", `00-${TRACE}-${SPAN}-00`, `00-${TRACE}-${SPAN}-00`],
  ["flags that are not known yet", `00-${TRACE}-${SPAN}-03`, `00-${TRACE}-${SPAN}-01`],
  ["a later version with more to say", `01-${TRACE}-${SPAN}-01-extra`, `00-${TRACE}-${SPAN}-01`],
  ["more than the first version has", `00-${TRACE}-${SPAN}-01-extra`, undefined],
  ["the version that is none", `ff-${TRACE}-${SPAN}-01`, undefined],
  ["no trace", `00-${"0".repeat(32)}-${SPAN}-01`, undefined],
  ["no parent", `00-${TRACE}-${"0".repeat(16)}-01`, undefined],
  ["capitals", `00-${TRACE.toUpperCase()}-${SPAN}-01`, undefined],
  ["too short", `00-${TRACE}`, undefined],
  ["empty", "", undefined],
])("a client's traceparent: %s", (_, given, seen) => {
  const context = trace.getSpanContext(parentOf({ traceparent: given }));
  expect(context === undefined ? undefined : traceparentOf(context)).toBe(seen);
});
