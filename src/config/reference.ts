import { z } from "zod";
import { agentSchema } from "./agent-schema.ts";
import { fields } from "./fields.ts";
import { aliasSchema, profileSchema, upstreamSchema } from "./manifest-schema.ts";
import { routerSchema } from "./router-schema.ts";
import { itemOf, keysOf, mapIn, peel } from "./schema-parts.ts";
import { serverSchema } from "./server-schema.ts";

/** One line of the reference page. */
export interface SettingRow {
  /** Such as `fabrics[].name`. */
  readonly key: string;
  readonly type: string;
  /** As a file would spell it, or in words: then `spelled` is false. */
  readonly fallback: string;
  readonly spelled: boolean;
  readonly doc: string;
}

export interface ReferenceSection {
  readonly title: string;
  readonly about: string;
  readonly rows: readonly SettingRow[];
}

/** Every setting there is, from the same schemas that check the files. */
export function configReference(): readonly ReferenceSection[] {
  return [
    section("agent.yaml", "For `llmgw agent`, one on each node. Only `server` must be written.", agentSchema),
    section("server.yaml", "For `llmgw server`. An empty file is valid.", serverSchema),
    section("router.yaml", "For `llmgw router`, a router alone. Only `servers` must be written.", routerSchema),
    section("kind: Profile", "A document of a manifest: a model to run.", profileSchema),
    section("kind: Alias", "A document of a manifest: a model name that stands for profiles.", aliasSchema),
    section("kind: Upstream", "A document of a manifest: an endpoint that llmgw does not run.", upstreamSchema),
  ];
}

const section = (title: string, about: string, schema: z.ZodObject): ReferenceSection => ({
  title,
  about,
  rows: rowsOf(schema, ""),
});

function rowsOf(map: z.ZodObject, prefix: string): readonly SettingRow[] {
  return keysOf(map).flatMap(([name, schema]) => {
    const key = prefix + name;
    const { inner } = peel(schema);
    const below = mapIn(inner);
    const deeper = inner instanceof z.ZodArray ? `${key}[].` : `${key}.`;
    return [rowOf(key, schema), ...(below === undefined ? [] : rowsOf(below, deeper))];
  });
}

function rowOf(key: string, schema: z.core.$ZodType): SettingRow {
  const { description = "", fallback: words } = z.globalRegistry.get(schema) ?? {};
  const { inner, presence } = peel(schema);
  const row = { key, type: typeName(inner), doc: description };
  if (typeof words === "string") return { ...row, fallback: words, spelled: false };
  if (presence.kind !== "default")
    return { ...row, fallback: presence.kind === "required" ? "required" : "", spelled: false };
  const isMap = inner instanceof z.ZodObject;
  return { ...row, fallback: isMap ? "see below" : JSON.stringify(presence.input), spelled: !isMap };
}

function typeName(schema: z.core.$ZodType): string {
  const field = fields.get(schema);
  if (field !== undefined) return field.type;
  if (schema instanceof z.ZodArray) return `list of ${plural(itemOf(schema))}`;
  if (schema instanceof z.ZodRecord) return `map of ${plural(schema.valueType)}`;
  if (schema instanceof z.ZodUnion) return schema.options.map(typeName).join(", or ");
  return "map";
}

const PLURALS: Readonly<Record<string, string>> = { address: "addresses", "SHA-256": "SHA-256 sums" };

function plural(schema: z.core.$ZodType): string {
  const name = typeName(schema);
  return PLURALS[name] ?? `${name}s`;
}
