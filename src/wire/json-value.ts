/** A JSON object of which nothing is known yet. */
export type Fields = Readonly<Record<string, unknown>>;

export const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export const isList = (value: unknown): value is readonly unknown[] => Array.isArray(value);

/** The elements of a list; none for what is no list. */
export const listOf = (value: unknown): readonly unknown[] => (isList(value) ? value : []);

/** The object; one without fields for what is none. */
export const fieldsOf = (value: unknown): Fields => (isFields(value) ? value : {});

/** The text; "" for what is none. */
export const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

/** A number of things; undefined for what cannot be one. */
export const countOf = (value: unknown): number | undefined =>
  typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined;

/** Undefined for what is no JSON: that is no JSON value. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The fields that have a value, so that none is sent as nothing. */
export function withoutUnset(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/** All fields but those. */
export function without(fields: Fields, names: ReadonlySet<string>): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !names.has(name)));
}
