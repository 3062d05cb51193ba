/** Where a JSON number may be in the middle of; `NUMBER_ENDS` holds those in which it may also be over. */
const STEPS = {
  minus: { zero: "zero", digit: "whole" },
  zero: { dot: "dot", e: "e" },
  whole: { zero: "whole", digit: "whole", dot: "dot", e: "e" },
  dot: { zero: "fraction", digit: "fraction" },
  fraction: { zero: "fraction", digit: "fraction", e: "e" },
  e: { zero: "exponent", digit: "exponent", sign: "sign", minus: "sign" },
  sign: { zero: "exponent", digit: "exponent" },
  exponent: { zero: "exponent", digit: "exponent" },
} as const satisfies Record<string, Partial<Record<ByteClass, string>>>;

export type NumberState = keyof typeof STEPS;
type ByteClass = "zero" | "digit" | "minus" | "sign" | "dot" | "e";

export const NUMBER_ENDS: ReadonlySet<NumberState> = new Set(["zero", "whole", "fraction", "exponent"]);

/** The state after a number's first byte; undefined when no number begins so. */
export function numberStart(byte: number): NumberState | undefined {
  const kind = classOf(byte);
  return kind === "minus" ? "minus" : kind === "zero" ? "zero" : kind === "digit" ? "whole" : undefined;
}

/** The state after one more byte; undefined when the byte does not belong to the number. */
export function numberStep(state: NumberState, byte: number): NumberState | undefined {
  const kind = classOf(byte);
  const steps: Partial<Record<ByteClass, NumberState>> = STEPS[state];
  return kind === undefined ? undefined : steps[kind];
}

function classOf(byte: number): ByteClass | undefined {
  if (byte === 0x30) return "zero";
  if (byte > 0x30 && byte <= 0x39) return "digit";
  if (byte === 0x2d) return "minus";
  if (byte === 0x2e) return "dot";
  if (byte === 0x2b) return "sign";
  return byte === 0x65 || byte === 0x45 ? "e" : undefined;
}
