import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { millis } from "../../../core/ids.ts";
import type { SharedFile } from "../../../core/sharing.ts";
import { emptyScrub, formatScrub, nextDue, parseScrub, type ScrubState, withHeldFiles } from "./scrub-state.ts";

const file = (key: string, sha256 = "aa"): SharedFile => ({ key, bytes: 1, sha256 });
const at = { now: millis(1000), every: millis(100) };

describe("what is read next", () => {
  test.each([
    ["nothing is held", emptyScrub, [], undefined],
    ["all of it was looked at lately", { checked: { a: 950 }, current: undefined, wrong: [] }, [file("a")], undefined],
    [
      "what was longest not looked at",
      { checked: { a: 800, b: 700, c: 950 }, current: undefined, wrong: [] },
      [file("a"), file("b"), file("c")],
      { file: file("b"), piece: 0 },
    ],
    [
      "what was begun, from where it was",
      { checked: { a: 1, b: 1 }, current: { key: "b", sha256: "aa", piece: 7 }, wrong: [] },
      [file("a"), file("b")],
      { file: file("b"), piece: 7 },
    ],
    [
      "not what was begun and has other content now",
      { checked: { a: 1, b: 950 }, current: { key: "b", sha256: "bb", piece: 7 }, wrong: [] },
      [file("a"), file("b")],
      { file: file("a"), piece: 0 },
    ],
  ])("%s", (_name, state, held, expected) => {
    expect(nextDue(state, held, at)).toEqual(expected);
  });

  test("a file that is new was checked when it was fetched; one that is gone is forgotten", () => {
    const state: ScrubState = {
      checked: { old: 5, gone: 5 },
      current: { key: "gone", sha256: "aa", piece: 1 },
      wrong: ["x"],
    };
    expect(withHeldFiles(state, [file("old"), file("new")], millis(50))).toEqual({
      checked: { old: 5, new: 50 },
      current: undefined,
      wrong: ["x"],
    });
  });

  test("a clock that was set back does not put a file off for years", () => {
    expect(
      withHeldFiles({ checked: { a: 9999 }, current: undefined, wrong: [] }, [file("a")], millis(50)).checked,
    ).toEqual({ a: 50 });
  });
});

describe("the state's file", () => {
  const state = fc.record({
    checked: fc.dictionary(fc.stringMatching(/^[a-z/.]{1,9}$/), fc.nat()),
    current: fc.option(
      fc.record({ key: fc.string({ minLength: 1 }), sha256: fc.string({ minLength: 1 }), piece: fc.nat() }),
      { nil: undefined },
    ),
    wrong: fc.array(fc.string()),
  });
  test("is read back as it was written", () => {
    fc.assert(
      fc.property(state, (one) => {
        expect(parseScrub(formatScrub(one))).toEqual(one);
      }),
    );
  });
  test.each(["", "{", "null", "[]", '{"version":2}', '{"version":1,"checked":7,"current":"x"}'])(
    "%j is as good as none",
    (text) => {
      expect(parseScrub(text)).toEqual(emptyScrub);
    },
  );
});
