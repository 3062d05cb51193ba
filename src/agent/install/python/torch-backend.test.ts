import { expect, test } from "vitest";
import { backendFor, backendName, whyNotWith } from "./torch-backend.ts";

test.each([
  { driver: undefined, backend: "cpu" },
  { driver: "615.10", backend: "cu130" },
  { driver: "580.65.06", backend: "cu130" },
  { driver: "580", backend: "cu130" },
  { driver: "579.99", backend: "cu129" },
  { driver: "525.60.13", backend: "cu129" },
  { driver: "525.60.11", backend: undefined },
  { driver: "470.82.01", backend: undefined },
])("the driver $driver runs builds for $backend", ({ driver, backend }) => {
  expect(backendFor(driver)).toBe(backend);
});

test.each([
  { cuda: "13.0", driver: "580.95.05", fits: true },
  { cuda: "13.2", driver: "580.95.05", fits: true },
  { cuda: "13.0", driver: "570.124.06", fits: false },
  { cuda: "12.9", driver: "570.124.06", fits: true },
  { cuda: "12.8", driver: "470.82.01", fits: false },
  { cuda: "11.8", driver: "470.82.01", fits: true },
  { cuda: "14.0", driver: "570.124.06", fits: true },
])("CUDA $cuda with the driver $driver: $fits", ({ cuda, driver, fits }) => {
  expect(whyNotWith(cuda, driver) === undefined).toBe(fits);
});

test("the name of a build says its CUDA", () => {
  expect([backendName("13.0"), backendName(undefined)]).toEqual(["cu130", "cpu"]);
});
