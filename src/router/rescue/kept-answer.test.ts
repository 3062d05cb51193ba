import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cut } from "../../../test/fakes/cut.ts";
import { bytes, type ReplicaId, replicaId } from "../../core/ids.ts";
import { jsonBody } from "../translate/ask.ts";
import { textOf } from "../piece.ts";
import { KeptAnswer } from "./kept-answer.ts";
import { RescueRoom } from "./room.ts";

const LLAMA = { id: replicaId("other"), apis: ["chat", "completions", "continues-last-message"] } as const;
const ask = (more: object = {}) => ({
  target: "/v1/chat/completions",
  body: jsonBody({ model: "m", messages: [{ role: "user", content: "hi" }], ...more }),
  rewrite: () => undefined,
});

const event = (delta: object, more: object = {}): string =>
  `data: ${JSON.stringify({ id: "first", choices: [{ index: 0, delta, ...more }] })}\n\n`;

const kept = (more: object = {}, room = new RescueRoom()): KeptAnswer => {
  const answer = KeptAnswer.of(ask(more), LLAMA, room);
  if (answer === undefined) throw new Error("no room");
  return answer;
};

test("another that would take the same bytes for another adapter does not go on", () => {
  const called = { ...ask(), fits: (id: ReplicaId) => id === "alike" };
  const answer = KeptAnswer.of(called, LLAMA, new RescueRoom());
  answer?.push(event({ content: "a" }));
  expect(answer?.handOver(LLAMA)).toEqual({ ok: false, error: "the other was started with other adapters" });
  expect(answer?.handOver({ ...LLAMA, id: replicaId("alike") })).toMatchObject({ ok: true });
});

describe("the bytes that pass", () => {
  const line = fc.oneof(
    fc
      .string({ unit: "grapheme" })
      .map((text) => `data: ${JSON.stringify({ choices: [{ delta: { content: text } }] })}`),
    fc.constantFrom(": waiting", "event: x", "id: 1", "data: 北京🌍", "data: [DONE]", "", "data"),
  );
  const stream = fc
    .array(fc.tuple(line, fc.constantFrom("\n", "\r\n", "\r", "\n\n", "\r\n\r\n", "\r\r", "")), { maxLength: 12 })
    .map((parts) => Buffer.from(parts.map((part) => part.join("")).join("")));

  test("are the same whatever reads they came in, and none is held at the end", () => {
    fc.assert(
      fc.property(stream, fc.array(fc.nat({ max: 2_000 }), { maxLength: 12 }), (whole, cuts) => {
        const answer = kept();
        const out = cut(whole, cuts).map((piece) => answer.push(textOf(piece)));
        expect(out.join("") + answer.finish("")).toBe(textOf(whole));
      }),
    );
  });

  test("are whole events only, and so what goes on does not depend on the reads", () => {
    const whole = Buffer.from(event({ content: "北京" }) + event({ content: "🌍 and" }) + 'data: {"half');
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 300 }), { maxLength: 6 }), (cuts) => {
        const answer = kept();
        const out = cut(whole, cuts).map((piece) => answer.push(textOf(piece)));
        expect(out.join("")).toMatch(/\n\n$/);
        const next = answer.handOver(LLAMA);
        expect(next.ok && Buffer.concat(next.value.ask.body.chunks).toString()).toContain('"content":"北京🌍 and"');
      }),
    );
  });

  test("of an event that does not end pass after all, and nobody can go on then", () => {
    const answer = kept();
    const begin = `${event({ content: "a" })}data: `;
    expect(answer.push(begin)).toHaveLength(begin.length - 6);
    const long = "x".repeat(70_000);
    expect(answer.push(long)).toHaveLength(long.length + 6);
    expect(answer.push("y")).toBe("y");
    expect(answer.handOver(LLAMA)).toEqual({ ok: false, error: "an event of it was too long" });
  });
});

describe("what is kept", () => {
  const long = event({ content: "x".repeat(500) });

  test("is bounded: a text that is too long is let go of, with its room", () => {
    const room = new RescueRoom(bytes(2_000_000));
    const answer = kept({}, room);
    for (let n = 0; n < 600; n++) expect(answer.push(long)).toBe(long);
    expect(answer.handOver(LLAMA)).toEqual({ ok: false, error: "it was too long to be kept" });
    answer.release();
    expect(room.take(2_000_000)).toBe(true);
  });

  test("is bounded for all together", () => {
    const room = new RescueRoom(bytes(17_000));
    const [one, two] = [KeptAnswer.of(ask(), LLAMA, room), KeptAnswer.of(ask(), LLAMA, room)];
    expect(KeptAnswer.of(ask(), LLAMA, room)).toBeUndefined();
    one?.release();
    one?.release();
    expect(KeptAnswer.of(ask(), LLAMA, room)).toBeDefined();
    for (let n = 0; n < 200; n++) two?.push(long);
    expect(two?.handOver(LLAMA)).toEqual({ ok: false, error: "there was no room to keep it" });
  });

  test("is no request that is very long", () => {
    const request = ask({ note: "x".repeat(5_000_000) });
    expect(KeptAnswer.of(request, LLAMA, new RescueRoom())).toBeUndefined();
  });
});
