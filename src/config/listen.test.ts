import { describe, expect, test } from "vitest";
import { parseListen, writeListen } from "./listen.ts";

describe("B146 listen addresses", () => {
  test.each([
    ["8000", "192.0.2.1", 8000],
    [":8000", "192.0.2.1", 8000],
    ["127.0.0.1:8000", "127.0.0.1", 8000],
    ["[::1]:8000", "::1", 8000],
    ["[::]:0", "::", 0],
    ["localhost:8000", "localhost", 8000],
    ["gpu-a-01.example:65535", "gpu-a-01.example", 65_535],
  ])("%s is taken", (text, host, port) => {
    const parsed = parseListen(text, "192.0.2.1");
    expect(parsed).toEqual({ ok: true, value: { host, port } });
    if (parsed.ok) expect(parseListen(writeListen(parsed.value), "")).toEqual(parsed);
  });

  test.each([
    ["::1:8000", "did you mean [::1]:8000?"],
    ["fd00::12:8000", "did you mean [fd00::12]:8000?"],
    ["host:99999", "ports go from 1 to 65535"],
    ["0.0.0.0", "the port is missing, such as 0.0.0.0:8000"],
    ["::", "the port is missing, such as [::]:8000"],
    ["gpu-a-01", "the port is missing, such as gpu-a-01:8000"],
    ["-5", "ports go from 1 to 65535"],
    ["host:-5", "ports go from 1 to 65535"],
    ["70000", "ports go from 1 to 65535"],
    ["", "must be an address with a port"],
    ["host:", "must be an address with a port"],
    ["host:http", "must be an address with a port"],
    ["http://host:80", "must be an address with a port"],
    ["[host]:80", "no IPv6 address"],
    ["[]:80", "no IPv6 address"],
    ["[127.0.0.1]:80", "no IPv6 address"],
    ["256.0.0.1:80", "no name or address"],
    ["1.2.3:80", "no name or address"],
    ["a b:80", "no name or address"],
    ["-a:80", "no name or address"],
  ])("%j is refused with the reason", (text, want) => {
    const parsed = parseListen(text, "192.0.2.1");
    expect(parsed.ok ? parsed.value : parsed.error).toContain(want);
  });
});
