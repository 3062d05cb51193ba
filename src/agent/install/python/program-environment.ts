import { dirname } from "node:path";

/** For a program of a virtual environment that only says something and ends. All GPUs stay visible. */
export const pythonEnvironment = (binary: string, home: string): Readonly<Record<string, string>> => ({
  PATH: `${dirname(binary)}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin`,
  // Caches are written there, and never where a person's are.
  HOME: home,
  LANG: "C.UTF-8",
  CUDA_DEVICE_ORDER: "PCI_BUS_ID",
  // A look at what it is must not be told to anybody, and must not wait for a network.
  DO_NOT_TRACK: "1",
  HF_HUB_OFFLINE: "1",
});
