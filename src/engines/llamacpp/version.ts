/** "version: 0.7.0 (build 11669, commit …)", and before that "version: 6713 (2a7f41d)". */
const BUILD = [/^version: \S+ \(build (\d+)/m, /^version: (\d+) \(/m] as const;

/** The build as releases name it, such as b11669. */
export function readVersion(output: string): string | undefined {
  for (const pattern of BUILD) {
    const [, build] = pattern.exec(output) ?? [];
    if (build !== undefined) return `b${build}`;
  }
  return undefined;
}

/** The names in the text of `--list-devices`, such as CUDA0; none on a machine or a build without GPUs. */
export function readDevices(output: string): readonly string[] {
  const [, list = ""] = output.split(/^Available devices:\s*$/m);
  return [...list.matchAll(/^\s+([A-Za-z]+\d+):/gm)].flatMap(([, name]) => name ?? []);
}
