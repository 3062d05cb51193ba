import { readKernelFile } from "../../platform/host.ts";

/** The NVIDIA driver that the kernel has loaded; its version is "" when it does not say. Undefined: none is loaded. */
export async function readNvidiaDriver(): Promise<{ readonly version: string } | undefined> {
  const text = await readKernelFile("/proc/driver/nvidia/version");
  return text === undefined ? undefined : { version: parseDriverVersion(text) };
}

/** "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.144.03  Mon …", or "… Open Kernel Module for x86_64  570.86.15  …". */
export function parseDriverVersion(text: string): string {
  return /Kernel Module(?: for \S+)?\s+(\d+(?:\.\d+)+)/.exec(text)?.[1] ?? "";
}
