import type { NewEvent, SubjectKind } from "../core/event.ts";
import type { Millis } from "../core/ids.ts";
import { err, ok, type Result } from "../core/result.ts";
import { sameValue } from "../core/same-value.ts";
import type { AppliedProfile } from "./manifest-change.ts";

interface Times {
  readonly createdAt: Millis;
  readonly updatedAt: Millis;
}

/** Objects that are applied by their names, and that nothing runs for. */
export interface NamedKind<T, S> {
  readonly subjectKind: SubjectKind;
  /** Of the events that tell of it. */
  readonly reasons: Readonly<Record<"created" | "changed" | "deleted", string>>;
  readonly objectOf: (stored: S) => T;
  readonly toStored: (object: T, times: Times) => S;
}

export interface AppliedNamed {
  readonly name: string;
  readonly outcome: AppliedProfile["outcome"];
}

interface Put<S> {
  /** By name; the same list when nothing in it differs. */
  readonly stored: readonly S[];
  readonly events: readonly NewEvent[];
  readonly answer: readonly AppliedNamed[];
}

export function putNamed<T extends { readonly name: string }, S extends Times>(
  kind: NamedKind<T, S>,
  before: readonly S[],
  { wanted, now }: { readonly wanted: readonly T[]; readonly now: Millis },
): Put<S> {
  const nameOf = (one: S): string => kind.objectOf(one).name;
  const stored = new Map(before.map((one) => [nameOf(one), one]));
  const answer = wanted.map((object): AppliedNamed => {
    const { name } = object;
    const was = stored.get(name);
    if (was !== undefined && sameValue(kind.objectOf(was), object)) return { name, outcome: "unchanged" };
    stored.set(name, kind.toStored(object, { createdAt: was?.createdAt ?? now, updatedAt: now }));
    return { name, outcome: was === undefined ? "created" : "changed" };
  });
  const events = answer.flatMap(({ name, outcome }) => (outcome === "unchanged" ? [] : [told(kind, name, outcome)]));
  if (events.length === 0) return { stored: before, events, answer };
  return { stored: [...stored.values()].toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1)), events, answer };
}

/** The error is the names of those that there are. */
export function dropNamed<T extends { readonly name: string }, S>(
  kind: NamedKind<T, S>,
  before: readonly S[],
  name: string,
): Result<{ readonly stored: readonly S[]; readonly events: readonly NewEvent[] }, readonly string[]> {
  const stored = before.filter((one) => kind.objectOf(one).name !== name);
  if (stored.length === before.length) return err(before.map((one) => kind.objectOf(one).name));
  return ok({ stored, events: [told(kind, name, "deleted")] });
}

function told<T, S>(
  { subjectKind, reasons }: NamedKind<T, S>,
  name: string,
  what: "created" | "changed" | "deleted",
): NewEvent {
  const message = `${subjectKind} ${name} was ${what}`;
  return { level: "info", subjectKind, subject: name, reason: reasons[what], message };
}
