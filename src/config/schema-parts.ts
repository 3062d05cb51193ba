import { z } from "zod";

/** What holds when a key is not written. */
type Presence =
  | { readonly kind: "required" }
  | { readonly kind: "optional" }
  /** As the file would spell it. */
  | { readonly kind: "default"; readonly input: unknown };

export interface Peeled {
  readonly inner: z.core.$ZodType;
  readonly presence: Presence;
}

/** A schema without its wrapping. */
export function peel(schema: z.core.$ZodType): Peeled {
  if (schema instanceof z.ZodOptional) return { inner: schema.def.innerType, presence: { kind: "optional" } };
  if (schema instanceof z.ZodPrefault) {
    return { inner: schema.def.innerType, presence: { kind: "default", input: schema.def.defaultValue } };
  }
  return { inner: schema, presence: { kind: "required" } };
}

/** The keys of the maps that a schema holds: itself, an item of its list, or one of its alternatives. */
export function mapIn(schema: z.core.$ZodType): z.ZodObject | undefined {
  const { inner } = peel(schema);
  if (inner instanceof z.ZodObject) return inner;
  if (inner instanceof z.ZodArray) return mapIn(itemOf(inner));
  if (inner instanceof z.ZodUnion) return inner.options.map(mapIn).find((map) => map !== undefined);
  return undefined;
}

/** What zod itself types as any. */
export const itemOf = (list: z.ZodArray): z.core.$ZodType => list.element;

export const keysOf = (map: z.ZodObject): readonly (readonly [string, z.core.$ZodType])[] => Object.entries(map.shape);
