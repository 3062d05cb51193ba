import type { ModelRoute } from "../core/route.ts";

/** One model with the fields of OpenAI's list and of Anthropic's: each client reads its own and skips the others. */
function modelObject({ name, created }: ModelRoute): Readonly<Record<string, unknown>> {
  return {
    id: name,
    object: "model",
    created,
    owned_by: "llmgw",
    type: "model",
    display_name: name,
    created_at: new Date(created * 1000).toISOString(),
  };
}

export const modelBody = (route: ModelRoute): string => JSON.stringify(modelObject(route));

export function modelListBody(routes: readonly ModelRoute[]): string {
  const data = routes.toSorted((a, b) => (a.name < b.name ? -1 : 1)).map(modelObject);
  const ids = { first_id: data[0]?.["id"] ?? null, last_id: data.at(-1)?.["id"] ?? null };
  return JSON.stringify({ object: "list", data, has_more: false, ...ids });
}

/** The name in a path, where slashes may stand as they are; undefined for an escape that is none. */
export function decodeModelName(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
