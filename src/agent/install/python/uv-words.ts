import { failed, type InstallFailure, type InstallFailureKind } from "../failure.ts";

interface Rule {
  readonly pattern: RegExp;
  readonly kind: InstallFailureKind;
  /** The groups of the pattern, and the whole of what uv said. */
  readonly say: (groups: readonly string[], causes: string) => string;
}

/** First match wins. uv says what it was doing, and below it one cause after the other, the last being the deepest. */
const RULES: readonly Rule[] = [
  {
    pattern: /Hash mismatch for `([^`]+)`[\s\S]*?Expected:\s+sha256:([0-9a-f]+)[\s\S]*?Computed:\s+sha256:([0-9a-f]+)/,
    kind: "checksum",
    say: ([what = "", right = "", is = ""]) =>
      `${what} does not have the right bytes: its sha256 is ${is}, ${right} is right`,
  },
  {
    pattern: /No space left on device|Disk quota exceeded/i,
    kind: "no-space",
    say: () => "the disk became full while the packages were unpacked",
  },
  {
    pattern: /Permission denied|Read-only file system/i,
    kind: "refused",
    say: (_, causes) => causes,
  },
  {
    pattern: /download[\s\S]*python-build-standalone|python-build-standalone[\s\S]*download/i,
    kind: "missing-tool",
    say: () => "no Python that fits is on this machine, and none can be fetched from GitHub",
  },
  {
    pattern: /No interpreter found|No download found|requested Python version|No Python at/i,
    kind: "missing-tool",
    say: (_, causes) => causes,
  },
  {
    // A page that wants a login is passed over like one that is not there; the reason stands in a hint.
    pattern: /index URL \(([^)\s]+)\) could not be queried[^(]*\(([^)]+)\)/,
    kind: "refused",
    say: ([url = "", status = ""]) => `${url} answered ${status}`,
  },
  {
    pattern: /HTTP status client error \((40[137][^)]*)\) for url \(([^)]+)\)/,
    kind: "refused",
    say: ([status = "", url = ""]) => `${url} answered ${status}`,
  },
  {
    pattern: /Failed to (?:fetch|download):? `?(https?:\/\/[^\s`]+)/,
    kind: "unreachable",
    say: ([url = ""], causes) => `${url} cannot be had: ${causes.split(": ").at(-1) ?? causes}`,
  },
  {
    pattern: /dns error|tcp connect error|error sending request|timed? ?out|connection (?:reset|closed)/i,
    kind: "unreachable",
    say: (_, causes) => causes,
  },
  {
    pattern:
      /no wheels? (?:with|are)|no usable wheels|wheels are available|does not satisfy Python|requires Python|Python requirement/i,
    kind: "no-build",
    say: (_, causes) => causes,
  },
  {
    pattern:
      /was not found in|there (?:is|are) (?:only |no )|not found in the provided package locations|unsatisfiable/i,
    kind: "not-found",
    say: (_, causes) => causes,
  },
];

/** What uv's failure means. */
export function explainUv(stderr: string): InstallFailure {
  const causes = causesIn(stderr);
  for (const { pattern, kind, say } of RULES) {
    const found = pattern.exec(stderr);
    if (found !== null) return failed(kind, say(found.slice(1), causes));
  }
  return failed("does-not-run", `uv failed: ${causes}`);
}

const MOST_CHARACTERS = 800;

/** One line out of uv's several: the error and what lies under it. Hints are for its command line. */
function causesIn(stderr: string): string {
  const plain = stderr.replace(/^hint:[\s\S]*/m, "");
  const lines = plain
    .split("\n")
    .map((line) => line.trim().replace(/^(error|cause|×|╰─▶|├─▶|│):?\s*/u, ""))
    .filter((line) => line !== "" && !/^(Using|Creating|Activate|Resolved|warning)/.test(line));
  const text = lines.join(": ").replace(/\.: /g, ". ");
  return text.length <= MOST_CHARACTERS ? text || "it said nothing" : `${text.slice(0, MOST_CHARACTERS)}…`;
}
