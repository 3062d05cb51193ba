import type { z } from "zod";
import { nearest } from "../core/nearest.ts";
import { keysOf, mapIn } from "./schema-parts.ts";
import { type Path, pathText } from "./tree.ts";

const spelling = (key: string): string => key.toLowerCase().replaceAll(/[-_.]/g, "");

/** What the writer of an unknown key may have meant, best guess first. */
export function guessKey(key: string, known: readonly string[], root: z.core.$ZodType): string {
  const same = known.find((candidate) => spelling(candidate) === spelling(key));
  if (same !== undefined) return `did you mean ${same}?`;
  const elsewhere = placesOf(root, []).filter((place) => spelling(String(place.at(-1))) === spelling(key));
  const [place, ...others] = elsewhere;
  if (place !== undefined && others.length === 0) {
    return place.length === 1
      ? `${String(place[0])} belongs at the top level`
      : `${String(place.at(-1))} belongs under ${pathText(place.slice(0, -1))}`;
  }
  const near = nearest(key, known);
  if (near !== undefined) return `did you mean ${near}?`;
  const list = elsewhere.length > 0 ? elsewhere.map(pathText) : known;
  return `${elsewhere.length > 0 ? "it exists as" : "known here:"} ${list.join(", ")}`;
}

function placesOf(schema: z.core.$ZodType, path: Path): readonly Path[] {
  const map = mapIn(schema);
  const keys = map === undefined ? [] : keysOf(map);
  return keys.flatMap(([key, inner]) => [[...path, key], ...placesOf(inner, [...path, key])]);
}
