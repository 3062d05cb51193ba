import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cut } from "../../test/fakes/cut.ts";
import { textOf } from "./piece.ts";
import { StreamWatch } from "./stream-watch.ts";

function watch(text: string | Buffer, cuts: readonly number[] = []) {
  const watching = new StreamWatch();
  let firsts = 0;
  for (const piece of cut(Buffer.from(text), cuts)) if (watching.push(textOf(piece))) firsts += 1;
  return { end: watching.end(), usage: watching.usage(), isBetweenEvents: watching.isBetweenEvents, firsts };
}

const USAGE = 'data: {"choices":[],"usage":{"prompt_tokens":13,"completion_tokens":20,"total_tokens":33}}\n\n';
const usage = { prompt: 13, cached: 0, completion: 20 };

describe("how a stream ended", () => {
  test.each([
    ["with [DONE]", "data: {}\n\ndata: [DONE]\n\n", { kind: "complete" }],
    ["with [DONE] and no space", "data:{}\n\ndata:[DONE]\n\n", { kind: "complete" }],
    ["with carriage returns", "data: {}\r\n\r\ndata: [DONE]\r\n\r\n", { kind: "complete" }],
    ["B80 a finish reason and no [DONE]", 'data: {"choices":[{"finish_reason":"stop"}]}\n\n', { kind: "complete" }],
    ["B80 neither", 'data: {"choices":[{"finish_reason":null}]}\n\n', { kind: "truncated" }],
    ["nothing", "", { kind: "truncated" }],
    ["[DONE] inside a message only", 'data: {"content":"data: [DONE]"}\n\n', { kind: "truncated" }],
    [
      "a finish reason inside a message only",
      String.raw`data: {"content":"\"finish_reason\":\"stop\""}` + "\n\n",
      { kind: "truncated" },
    ],
    ["Messages", 'event: message_stop\ndata: {"type":"message_stop"}\n\n', { kind: "complete" }],
    ["a transcription", 'data: {"type":"transcript.text.done","text":"x"}\n\n', { kind: "complete" }],
    ["speech", 'data: {"type":"speech.audio.done"}\n\n', { kind: "complete" }],
    ["pictures", 'data: {"type":"image_generation.completed"}\n\n', { kind: "complete" }],
    ["Responses", 'event: response.completed\ndata: {"type":"response.completed"}\n\n', { kind: "complete" }],
    [
      "B81 an error with a code",
      'data: {"error":{"message":"TimeoutError","type":"GatewayTimeout","code":504}}\n\ndata: [DONE]\n\n',
      { kind: "engineError", code: 504 },
    ],
    ["an error without one", 'data: {"error":{"message":"x"}}\n\n', { kind: "engineError", code: 502 }],
    ["an error of Messages", 'event: error\ndata: {"type":"error","error":{}}\n\n', { kind: "engineError", code: 502 }],
    ["an error that is null", 'data: {"error":null,"choices":[]}\n\ndata: [DONE]\n\n', { kind: "complete" }],
  ])("%s", (_name, text, want) => {
    expect(watch(text).end).toEqual(want);
  });
});

describe("the first token", () => {
  test.each([
    ["B77 comments are none", ": PROCESSING\n\n:\n\n", 0],
    ["B77 a data line behind comments is", ": PROCESSING\n\n:\n\ndata: {}\n\n: x\ndata: [DONE]\n\n", 1],
    ["an event with a name is", "event: message_start\ndata: {}\n\n", 1],
    ["B81 an error is none", 'data: {"error":{"code":504}}\n\ndata: [DONE]\n\n', 0],
    ["many events are one first", "data: 1\n\ndata: 2\n\ndata: 3\n\n", 1],
  ])("%s", (_name, text, want) => {
    const cuts = [...Array(text.length).keys()];
    expect(watch(text).firsts).toBe(want);
    expect(watch(text, cuts).firsts).toBe(want);
  });
});

describe("B78 whether a line of our own may be put in", () => {
  test.each([
    ["before anything", "", true],
    ["after an event", "data: 1\n\n", true],
    ["after an event with carriage returns", "data: 1\r\n\r\n", true],
    ["inside an event", "data: 1\n", false],
    ["inside a line", "data: 1", false],
    ["between carriage return and line feed", "data: 1\r\n\r", false],
    ["at an empty line inside nothing", ": x\n\n", true],
  ])("%s", (_name, text, want) => {
    expect(watch(text).isBetweenEvents).toBe(want);
    expect(watch(text, [...Array(text.length).keys()]).isBetweenEvents).toBe(want);
  });
});

describe("usage", () => {
  test("B82 of the last event before [DONE]", () => {
    expect(watch(`data: {"choices":[{}]}\n\n${USAGE}data: [DONE]\n\n`).usage).toEqual(usage);
  });

  test("B86 after a line of 3 MiB", () => {
    const result = watch(`data: {"x":"${"a".repeat(3 << 20)}"}\n\n${USAGE}data: [DONE]\n\n`, [1000, 2_000_000]);
    expect(result).toMatchObject({ usage, end: { kind: "complete" } });
  });

  test("B85 none for an event that does not end, and that of the next one", () => {
    const watching = new StreamWatch();
    const piece = Buffer.alloc(65_536, "a");
    watching.push(textOf(Buffer.from("data: ")));
    for (let n = 0; n < 512; n++) watching.push(textOf(piece));
    expect(watching.usage()).toBeUndefined();
    watching.push(textOf(Buffer.from(`\n\n${USAGE}`)));
    expect(watching.usage()).toEqual(usage);
  });

  test("Messages count the prompt at the start and the rest at the end", () => {
    const start =
      'event: message_start\ndata: {"type":"message_start","message":{"usage":{"input_tokens":7,"output_tokens":1}}}\n\n';
    const middle = 'event: content_block_delta\ndata: {"delta":{"text":"abc"}}\n\n'.repeat(500);
    const end = 'event: message_delta\ndata: {"delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":500}}\n\n';
    expect(watch(start + middle + end, [200, 5_000, 20_000]).usage).toEqual({ prompt: 7, cached: 0, completion: 500 });
  });

  test("Responses end with one long event", () => {
    const event = `event: response.completed\ndata: {"type":"response.completed","response":{"output":"${"a".repeat(300_000)}","usage":{"input_tokens":3,"output_tokens":4}}}\n\n`;
    const cuts = [...Array(9).keys()].map((n) => n * 32_000);
    expect(watch(event, cuts)).toMatchObject({ end: { kind: "complete" }, usage: { prompt: 3, completion: 4 } });
  });
});

test("B74 however the bytes are cut, the verdict is the same", () => {
  const text = `: hi\n\ndata: {"choices":[{"delta":{"content":"北京🌍"}}]}\n\n${USAGE}data: [DONE]\n\n`;
  const want = { end: { kind: "complete" }, usage, firsts: 1, isBetweenEvents: true };
  for (let cut = 0; cut <= Buffer.byteLength(text); cut++) expect(watch(text, [cut])).toEqual(want);
  fc.assert(
    fc.property(fc.array(fc.nat({ max: 400 })), (cuts) => {
      expect(watch(text, cuts)).toEqual(want);
    }),
  );
});

test.each([
  ["after [DONE]", "data: {}\n\ndata: [DONE]\n\n", true],
  ["after the last event of Messages", 'event: message_stop\ndata: {"type":"message_stop"}\n\n', true],
  ["not after a reason alone", 'data: {"choices":[{"finish_reason":"stop"}]}\n\n', false],
  ["not after an error", 'data: {"error":{"message":"x"}}\n\ndata: [DONE]\n\n', false],
])("nothing is lacking %s", (_name, text, isDone) => {
  const watching = new StreamWatch();
  watching.push(textOf(Buffer.from(text)));
  expect(watching.isDone).toBe(isDone);
  expect(watching.tail().toString()).toBe(text);
});
