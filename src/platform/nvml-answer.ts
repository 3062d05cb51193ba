/** What NVML says of a card or of a slice of one, call by call: a value, or the code that the call ended with. */
export interface NvmlDevice {
  readonly texts: Readonly<Record<string, string>>;
  readonly numbers: Readonly<Record<string, readonly number[]>>;
  /** Codes other than success, by the same names as the values. */
  readonly failed: Readonly<Record<string, number>>;
}

export interface NvmlCard extends NvmlDevice {
  readonly index: number;
  /** The code with which the card itself was given; nothing else was asked when it is not 0. */
  readonly code: number;
  /** Its NVLinks that are up. */
  readonly nvlinks: readonly NvmlLink[];
  readonly slices: readonly NvmlDevice[];
}

export interface NvmlLink {
  /** 0 a GPU, 2 a switch, 255 unknown. */
  readonly kind: number;
  /** PCI address of what is at the other end; "" unknown. */
  readonly remote: string;
}

export interface NvmlPair {
  readonly a: number;
  readonly b: number;
  /** nvmlDeviceGetTopologyCommonAncestor; -1 when it failed. */
  readonly ancestor: number;
  /** nvmlDeviceGetP2PStatus for NVLink; -1 when it failed. */
  readonly p2p: number;
}

export type NvmlAnswer =
  | {
      readonly kind: "read";
      readonly library: string;
      readonly driver: string;
      readonly cards: readonly NvmlCard[];
      readonly pairs: readonly NvmlPair[];
    }
  /** No library could be loaded. */
  | { readonly kind: "notLoaded"; readonly reason: string }
  /** A call without which nothing can be read ended with a code. */
  | { readonly kind: "failed"; readonly library: string; readonly call: string; readonly code: number };

/** Undefined for text that is no answer, such as one that was cut short. */
export function parseNvmlAnswer(output: string): NvmlAnswer | undefined {
  // The driver's library may print lines of its own before.
  const line = output.split("\n").findLast((text) => text.startsWith('{"kind":'));
  if (line === undefined) return undefined;
  try {
    const answer: unknown = JSON.parse(line);
    return isAnswer(answer) ? answer : undefined;
  } catch {
    return undefined;
  }
}

type Shape = Readonly<Record<string, (value: unknown) => boolean>>;
type Fields = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const isText = (value: unknown): boolean => typeof value === "string";
const isNumber = (value: unknown): boolean => typeof value === "number" && Number.isFinite(value);
const listOf = (is: (value: unknown) => boolean) => (value: unknown) => Array.isArray(value) && value.every(is);
const mapOf = (is: (value: unknown) => boolean) => (value: unknown) =>
  isObject(value) && Object.values(value).every(is);
const shaped = (shape: Shape) => (value: unknown) =>
  isObject(value) && Object.entries(shape).every(([name, is]) => is(value[name]));

const DEVICE: Shape = { texts: mapOf(isText), numbers: mapOf(listOf(isNumber)), failed: mapOf(isNumber) };
const CARD: Shape = {
  ...DEVICE,
  index: isNumber,
  code: isNumber,
  nvlinks: listOf(shaped({ kind: isNumber, remote: isText })),
  slices: listOf(shaped(DEVICE)),
};
const PAIR: Shape = { a: isNumber, b: isNumber, ancestor: isNumber, p2p: isNumber };
const ANSWERS: Readonly<Record<NvmlAnswer["kind"], Shape>> = {
  read: { library: isText, driver: isText, cards: listOf(shaped(CARD)), pairs: listOf(shaped(PAIR)) },
  notLoaded: { reason: isText },
  failed: { library: isText, call: isText, code: isNumber },
};

function isAnswer(value: unknown): value is NvmlAnswer {
  if (!isObject(value)) return false;
  const shape = Object.entries(ANSWERS).find(([kind]) => kind === value["kind"])?.[1];
  return shape !== undefined && shaped(shape)(value);
}
