import { expect, test } from "vitest";
import { bracketed, hostAndPort } from "./host-port.ts";

test.each([
  { host: "node-a", want: "node-a" },
  { host: "10.0.0.1", want: "10.0.0.1" },
  { host: "::1", want: "[::1]" },
  { host: "fd00::11", want: "[fd00::11]" },
  { host: "fe80::1%eth0", want: "[fe80::1%eth0]" },
])("$host before a port", ({ host, want }) => {
  expect(bracketed(host)).toBe(want);
  expect(hostAndPort(host, 6379)).toBe(`${want}:6379`);
});
