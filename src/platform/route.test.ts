import { expect, test } from "vitest";
import { listAddresses, sourceAddressTo } from "./route.ts";

test.each(["127.0.0.1", "localhost"])("what goes to %s comes from loopback", async (host) => {
  const source = await sourceAddressTo(host);
  expect(source.ok && ["127.0.0.1", "::1"].includes(source.value)).toBe(true);
});

test("a name that does not resolve says so", async () => {
  const source = await sourceAddressTo("no-such-host.invalid");
  expect(source).toMatchObject({ ok: false });
  expect(!source.ok && source.error).toContain("no-such-host.invalid");
});

test("loopback is among the addresses", () => {
  expect(listAddresses()).toContainEqual(expect.objectContaining({ address: "127.0.0.1", loopback: true }));
});
