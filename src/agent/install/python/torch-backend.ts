import { compareNumbers } from "../../../core/compare-numbers.ts";

/** The oldest driver that runs programs of a CUDA, by CUDA's first number: within one, minor versions are compatible. */
const FLOORS: Readonly<Record<string, string>> = { "13": "580", "12": "525.60.13", "11": "450.80.02" };

/** The newest first. PyTorch publishes builds for each. */
const CUDAS = ["13.0", "12.9"] as const;

/** The builds for a driver, as PyTorch names them; cpu without one; undefined for a driver too old for any. */
export function backendFor(driver: string | undefined): string | undefined {
  if (driver === undefined) return "cpu";
  const newest = CUDAS.find((cuda) => whyNotWith(cuda, driver) === undefined);
  return newest === undefined ? undefined : backendName(newest);
}

/** Why programs of the CUDA do not run with the driver, or undefined when they do. An unknown CUDA is left to the trial. */
export function whyNotWith(cuda: string, driver: string): string | undefined {
  const floor = FLOORS[cuda.split(".")[0] ?? ""];
  if (floor === undefined || compareNumbers(driver, floor) >= 0) return undefined;
  return `it is built for CUDA ${cuda}, which needs an NVIDIA driver ${floor} or newer, and this node has ${driver}`;
}

/** For the name of a build's folder, such as cu130. */
export const backendName = (cuda: string | undefined): string =>
  cuda === undefined ? "cpu" : `cu${cuda.replaceAll(".", "")}`;
