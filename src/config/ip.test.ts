import { expect, test } from "vitest";
import { ipScope, isLoopback } from "./ip.ts";

test.each([
  ["10.0.0.11", "usable"],
  ["127.0.0.1", "loopback"],
  ["127.9.9.9", "loopback"],
  ["169.254.30.2", "link-local"],
  ["0.0.0.0", "unspecified"],
  ["224.0.0.1", "multicast"],
  ["255.255.255.255", "multicast"],
  ["::1", "loopback"],
  ["::", "unspecified"],
  ["fe80::1", "link-local"],
  ["febf::1", "link-local"],
  ["fec0::1", "usable"],
  ["ff02::1", "multicast"],
  ["2001:db8::7", "usable"],
  ["::ffff:169.254.1.1", "link-local"],
  ["::ffff:10.0.0.1", "usable"],
  ["10.0.0", undefined],
  ["10.0.0.256", undefined],
  ["010.0.0.1", undefined],
  ["gpu-a-01", undefined],
  ["", undefined],
  [":", undefined],
  ["fe80::1%eth0", undefined],
  ["2001:db8::g", undefined],
])("%s is %s", (text, want) => {
  expect(ipScope(text)).toBe(want);
});

test("localhost is loopback, another name is not", () => {
  expect([isLoopback("localhost"), isLoopback("::1"), isLoopback("host"), isLoopback("0.0.0.0")]).toEqual([
    true,
    true,
    false,
    false,
  ]);
});
