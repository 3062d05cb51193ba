import { expect, test } from "vitest";
import { tooOpen } from "./file-rights.ts";

const ROOT = 0;
const SERVICE = 990;

test.each([
  { mode: 0o600, uid: SERVICE, self: SERVICE, want: undefined },
  { mode: 0o400, uid: SERVICE, self: SERVICE, want: undefined },
  { mode: 0o640, uid: SERVICE, self: SERVICE, want: "640" },
  { mode: 0o604, uid: SERVICE, self: SERVICE, want: "604" },
  { mode: 0o100_644, uid: SERVICE, self: SERVICE, want: "644" },
  { mode: 0o640, uid: ROOT, self: SERVICE, want: undefined },
  { mode: 0o440, uid: ROOT, self: SERVICE, want: undefined },
  { mode: 0o660, uid: ROOT, self: SERVICE, want: "660" },
  { mode: 0o644, uid: ROOT, self: SERVICE, want: "644" },
  { mode: 0o640, uid: ROOT, self: ROOT, want: "640" },
])("mode $mode of user $uid, for user $self: $want", ({ mode, uid, self, want }) => {
  expect(tooOpen({ mode, uid }, self)).toBe(want);
});
