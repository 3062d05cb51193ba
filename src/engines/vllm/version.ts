/** In the text of `vllm --version`: a line of its own, after whatever its libraries had to say. */
export function readVersion(output: string): string | undefined {
  const lines = output.split("\n").map((line) => line.trim());
  return lines.findLast((line) => /^\d+\.\d+(\.\d+)*([a-z]+\d+)?(\.(dev|post)\d+)*(\+[\w.]+)?$/.test(line));
}

/** Whether a build is of that release or a later one; false when nobody knows its version. */
export function isAtLeast(version: string | undefined, least: readonly [major: number, minor: number]): boolean {
  const [, major, minor] = /^(\d+)\.(\d+)/.exec(version ?? "") ?? [];
  if (major === undefined || minor === undefined) return false;
  return Number(major) === least[0] ? Number(minor) >= least[1] : Number(major) > least[0];
}
