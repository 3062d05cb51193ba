import { expect, test } from "vitest";
import { readDevices, readVersion } from "./version.ts";

test.each([
  { text: "version: 0.7.0 (build 11669, commit Debian)\nbuilt with GNU 16.2.0 for Linux x86_64\n", want: "b11669" },
  { text: "load_backend: loaded CPU backend\nversion: 6713 (2a7f41d9)\nbuilt with cc\n", want: "b6713" },
  { text: "llama-server 1.0", want: undefined },
  { text: "", want: undefined },
])("version in $text", ({ text, want }) => {
  expect(readVersion(text)).toBe(want);
});

test.each([
  { text: "Available devices:\n  (none)\n", want: [] },
  {
    text: "load_backend: loaded CUDA backend from /x/libggml-cuda.so\nAvailable devices:\n  CUDA0: NVIDIA H200 (143771 MiB, 143000 MiB free)\n  CUDA1: NVIDIA H200 (143771 MiB, 143000 MiB free)\n",
    want: ["CUDA0", "CUDA1"],
  },
  { text: "ggml_cuda_init: found 1 CUDA devices:\n  Device 0: x\n", want: [] },
])("devices in $text", ({ text, want }) => {
  expect(readDevices(text)).toEqual(want);
});
