/** What the program is asked for its version with: it has no flag for that, but its package has. */
export const VERSION_ARGS = ["-c", "import importlib.metadata as m; print('sglang ' + m.version('sglang'))"] as const;

export const readVersion = (output: string): string | undefined => /^sglang (\d\S*)$/m.exec(output)?.[1];
