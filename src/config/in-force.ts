import { stringify } from "yaml";
import { z } from "zod";
import { fields } from "./fields.ts";
import { itemOf, keysOf, peel } from "./schema-parts.ts";

/** YAML of a configuration that was read with the schema: what was not written is there too, secrets are not. */
export function inForce(schema: z.ZodObject, config: object): string {
  return stringify(spell(schema, config), { lineWidth: 0 });
}

/** The value as a file would spell it. */
export function spell(schema: z.core.$ZodType, value: unknown): unknown {
  const { inner, presence } = peel(schema);
  if (value === undefined && presence.kind === "optional") return undefined;
  if (inner instanceof z.ZodObject) {
    return mapped(keysOf(inner), value);
  }
  if (inner instanceof z.ZodRecord) {
    return mapped(
      Object.keys(value as object).map((key) => [key, inner.valueType]),
      value,
    );
  }
  if (inner instanceof z.ZodArray) return (value as readonly unknown[]).map((item) => spell(itemOf(inner), item));
  if (inner instanceof z.ZodUnion) return spellUnion(inner, value);
  const field = fields.get(inner);
  if (field?.secret === true) return "[hidden]";
  return field === undefined ? value : field.write(value);
}

function mapped(keys: readonly (readonly [string, z.core.$ZodType])[], value: unknown): unknown {
  const held = new Map(Object.entries(value as object));
  const pairs = keys.map(([key, schema]) => [key, spell(schema, held.get(key))] as const);
  return Object.fromEntries(pairs.filter(([, spelled]) => spelled !== undefined));
}

function spellUnion(union: z.ZodUnion, value: unknown): unknown {
  const fitting = union.options.find((option) =>
    Array.isArray(value)
      ? option instanceof z.ZodArray
      : typeof value === "object"
        ? option instanceof z.ZodObject || option instanceof z.ZodRecord
        : fields.has(option),
  );
  return fitting === undefined ? value : spell(fitting, value);
}
