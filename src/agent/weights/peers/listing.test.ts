import { describe, expect, test } from "vitest";
import { passing } from "../failure.ts";
import { emptyRecord } from "../record.ts";
import { isOutOfReach, listingKey, listingsOf, parseListing } from "./listing.ts";

const held = { name: "m.gguf", bytes: 3, sha256: "aa" };
const offered = [{ ...held }, { name: "q/n.gguf", bytes: 0, sha256: undefined }];
const record = { ...emptyRecord, identities: ["hf:acme/m", "hf:acme/m@c0ffee"], offered, held: [held] };

test("is told under each name that the source goes by, and read back", () => {
  const listings = listingsOf("hf--acme--m--c0ffee", record);
  expect(listings.map(({ key }) => key)).toEqual(record.identities.map(listingKey));
  expect(parseListing(listings[0]?.data.toString() ?? "")).toEqual({
    ...{ identity: "hf:acme/m", folder: "hf--acme--m--c0ffee", files: offered },
  });
});

test("a folder that holds nothing tells nothing", () => {
  expect(listingsOf("f", { ...record, held: [] })).toEqual([]);
});

describe("a listing from elsewhere", () => {
  const listing = { identity: "hf:acme/m", folder: "f", files: [{ name: "m.gguf", bytes: 1 }] };
  test.each([
    ["no JSON", "{"],
    ["nothing", "null"],
    ["no files", JSON.stringify({ ...listing, files: [] })],
    ["a folder that leads out", JSON.stringify({ ...listing, folder: ".." })],
    ["a folder in a folder", JSON.stringify({ ...listing, folder: "a/b" })],
    ["an absolute folder", JSON.stringify({ ...listing, folder: "/etc" })],
    ["only files that lead out", JSON.stringify({ ...listing, files: [{ name: "../m.gguf", bytes: 1 }] })],
    ["only hidden files", JSON.stringify({ ...listing, files: [{ name: ".llmgw.json", bytes: 1 }] })],
    ["sizes that are none", JSON.stringify({ ...listing, files: [{ name: "m.gguf", bytes: -1 }] })],
  ])("with %s is none", (_name, text) => {
    expect(parseListing(text)).toBeUndefined();
  });
});

test.each([
  ["network", true],
  ["stalled", true],
  ["offline", true],
  ["auth", false],
  ["gated", false],
  ["not-found", false],
])("after %s others are asked: %s", (kind, expected) => {
  expect(isOutOfReach(passing(kind, "why"))).toBe(expected);
});
