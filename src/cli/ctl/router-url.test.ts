import { expect, test } from "vitest";
import { reachable } from "./router-url.ts";

test.each([
  ["http://127.0.0.1:8080", "http://10.0.0.1:7443", "http://127.0.0.1:8080"],
  ["http://0.0.0.0:8080/v1", "http://10.0.0.1:7443", "http://10.0.0.1:8080/v1"],
  ["http://[::]:8080", "http://[fd00::1]:7443", "http://[fd00::1]:8080/"],
])("%s of %s is asked at %s", (router, server, want) => {
  expect(reachable(router, server)).toBe(want);
});
