/** A version of a Python package, taken apart so that two can be compared (PEP 440). */
export interface WheelVersion {
  readonly epoch: number;
  readonly release: readonly number[];
  /** a, b or rc with its number; undefined: a final release. */
  readonly pre: { readonly stage: number; readonly number: number } | undefined;
  readonly post: number | undefined;
  readonly dev: number | undefined;
}

const FORM =
  /^v?(?:(\d+)!)?(\d+(?:\.\d+)*)(?:[-_.]?(a|b|c|rc|alpha|beta|pre|preview)[-_.]?(\d*))?((?:[-_.]?(?:post|rev|r)[-_.]?\d*)|-\d+)?([-_.]?dev[-_.]?\d*)?(?:\+[a-z0-9._-]+)?$/;
const STAGES: Readonly<Record<string, number>> = { a: 0, alpha: 0, b: 1, beta: 1, c: 2, rc: 2, pre: 2, preview: 2 };

export function parseVersion(text: string): WheelVersion | undefined {
  const [whole, epoch = "0", release = "", stage, number = "", post, dev] = FORM.exec(text.trim().toLowerCase()) ?? [];
  if (whole === undefined) return undefined;
  return {
    epoch: Number(epoch),
    release: release.split(".").map(Number),
    pre: stage === undefined ? undefined : { stage: STAGES[stage] ?? 0, number: Number(number) },
    post: numberIn(post),
    dev: numberIn(dev),
  };
}

/** "post" alone means post0. */
const numberIn = (text: string | undefined): number | undefined =>
  text === undefined ? undefined : Number(/\d+/.exec(text)?.[0] ?? "0");

export const isPrerelease = (version: WheelVersion): boolean => version.pre !== undefined || version.dev !== undefined;

/** Below 0: `a` is the older. */
export function compareVersions(a: WheelVersion, b: WheelVersion): number {
  const [left, right] = [sortKey(a), sortKey(b)];
  for (let i = 0; i < Math.max(left.length, right.length); i += 1) {
    const difference = (left[i] ?? 0) - (right[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

const RELEASE_PARTS = 8;

/** dev < a < b < rc < final < post; a dev of a pre-release comes before it. */
function sortKey({ epoch, release, pre, post, dev }: WheelVersion): readonly number[] {
  const padded = Array.from({ length: RELEASE_PARTS }, (_, i) => release[i] ?? 0);
  const isBareDev = dev !== undefined && pre === undefined && post === undefined;
  const stage = pre?.stage ?? (isBareDev ? -1 : 3);
  return [epoch, ...padded, stage, pre?.number ?? 0, post ?? -1, dev ?? Number.MAX_SAFE_INTEGER];
}
