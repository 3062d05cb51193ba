import { describe, expect, test } from "vitest";
import { parseServerAddress } from "./server-address.ts";

describe("addresses of a control plane", () => {
  test.each([
    ["http://llmgw-server.internal:7443", "http://llmgw-server.internal:7443"],
    ["http://127.0.0.1:7443/", "http://127.0.0.1:7443"],
    ["https://[2001:db8::1]:7443", "https://[2001:db8::1]:7443"],
    ["https://cp.example", "https://cp.example"],
  ])("%s", (text, want) => {
    expect(parseServerAddress(text)).toEqual({ ok: true, value: want });
  });

  test.each(["https://cp.example.:7443", "https://CP.Example:7443", "HTTPS://CP.example.:7443/"])(
    "B158 %s is the same as the name without final dot and capitals",
    (text) => {
      expect(parseServerAddress(text)).toEqual({ ok: true, value: "https://cp.example:7443" });
    },
  );

  test.each([
    ["cp.example:7443", "did you mean https://cp.example:7443?"],
    ["tcp://cp.example:7443", "did you mean https://cp.example:7443?"],
    ["http://cp.example:-1", "ports go from 1 to 65535"],
    ["http://cp.example:0", "ports go from 1 to 65535"],
    ["http://cp.example:99999", "ports go from 1 to 65535"],
    ["http://cp.example:7443/api", "must end after the port"],
    ["http://cp.example:7443?x", "must end after the port"],
    ["http://me:secret@cp.example:7443", "must not carry a name or password"],
    ["http://", "is no address"],
    ["http://a b:1", "is no address"],
    ["http://..:7443", "names no host"],
  ])("%s is refused with the reason", (text, want) => {
    const parsed = parseServerAddress(text);
    expect(parsed.ok ? parsed.value : parsed.error).toContain(want);
  });
});
