export type RuleName =
  | "no GPU is given twice"
  | "a replica never runs twice"
  | "a gang is on one fabric, with all ranks or none"
  | "no replica is on a node that refused it"
  | "no healthy engine is stopped without a cause"
  | "no planned change cuts a stream"
  | "no node is given up while most are silent"
  | "what is wanted is reached once faults end";

/** What must never be, and how it came to be seen. */
export interface Violation {
  readonly rule: RuleName;
  /** Simulated ms. */
  readonly at: number;
  readonly what: string;
}

/** A rule that does not hold, in words. */
export type Breach = Omit<Violation, "at">;
