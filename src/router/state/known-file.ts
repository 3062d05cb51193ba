import { create, fromJson, type JsonValue, toJson } from "@bufbuild/protobuf";
import { type Millis, millis } from "../../core/ids.ts";
import { readTextIfThere, writeFileAtomic } from "../../platform/files.ts";
import { type KeySet, KeySetSchema, type RouteTable, RouteTableSchema } from "../../wire/gen/llmgw/v1/router_pb.js";
import { type KeyTotals, KeyTotalsSchema } from "../../wire/gen/llmgw/v1/usage_pb.js";

/** What control planes have said last. */
export interface Known {
  /** When one was heard last, by the wall clock. */
  readonly heardAt: Millis;
  readonly table: RouteTable | undefined;
  readonly keys: KeySet | undefined;
  /** What was used under each key by then. */
  readonly totals: KeyTotals;
}

export const NOTHING_KNOWN: Known = {
  heardAt: millis(0),
  table: undefined,
  keys: undefined,
  totals: create(KeyTotalsSchema),
};

/** Only the owner may read it: the engines' own keys are in it. */
const MODE = 0o600;
const FORM = 1;

export async function writeKnown(path: string, { heardAt, table, keys, totals }: Known): Promise<void> {
  const said = {
    form: FORM,
    heard_at_ms: heardAt,
    ...(table === undefined ? {} : { table: toJson(RouteTableSchema, table) }),
    ...(keys === undefined ? {} : { keys: toJson(KeySetSchema, keys) }),
    totals: toJson(KeyTotalsSchema, totals),
  };
  await writeFileAtomic(path, `${JSON.stringify(said)}\n`, MODE);
}

/** Undefined: there is no such file. Throws when there is one that cannot be understood. */
export async function readKnown(path: string): Promise<Known | undefined> {
  const text = await readTextIfThere(path);
  return text === undefined ? undefined : parseKnown(text);
}

function parseKnown(text: string): Known {
  const said: unknown = JSON.parse(text);
  if (typeof said !== "object" || said === null || !("form" in said)) throw new Error("it is no file of a router's");
  if (said.form !== FORM)
    throw new Error(`it has the form ${String(said.form)}, and this version reads ${String(FORM)}`);
  const { heard_at_ms: heardAt, table, keys, totals } = said as Readonly<Record<string, JsonValue | undefined>>;
  if (typeof heardAt !== "number") throw new Error("it does not say how old it is");
  // What a newer version of the same form adds is not for this one.
  const options = { ignoreUnknownFields: true };
  return {
    heardAt: millis(heardAt),
    table: table === undefined ? undefined : fromJson(RouteTableSchema, table, options),
    keys: keys === undefined ? undefined : fromJson(KeySetSchema, keys, options),
    totals: totals === undefined ? create(KeyTotalsSchema) : fromJson(KeyTotalsSchema, totals, options),
  };
}
