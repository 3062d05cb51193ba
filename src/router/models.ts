import type { ModelRoute } from "../core/route.ts";

/** One model with the fields of OpenAI's list and of Anthropic's: each client reads its own and skips the others. */
function modelObject({ name, created, parent }: ModelRoute): Readonly<Record<string, unknown>> {
  return {
    id: name,
    object: "model",
    created,
    owned_by: "llmgw",
    type: "model",
    display_name: name,
    created_at: new Date(created * 1000).toISOString(),
    // As engines list an adapter beside its model.
    ...(parent === undefined ? {} : { parent }),
  };
}

export const modelBody = (route: ModelRoute): string => JSON.stringify(modelObject(route));

/** A part of the list, as Anthropic's clients ask for it. */
interface Page {
  readonly limit: number;
  readonly after: string | undefined;
  readonly before: string | undefined;
}

/** What a target's query asks for; without it, or when it makes no sense, everything. */
export function pageOf(target: string): Page {
  const query = new URLSearchParams(target.slice(target.indexOf("?") + 1));
  const limit = Number(query.get("limit"));
  return {
    limit: Number.isInteger(limit) && limit > 0 ? limit : Infinity,
    after: query.get("after_id") ?? undefined,
    before: query.get("before_id") ?? undefined,
  };
}

export function modelListBody(routes: readonly ModelRoute[], { limit, after, before }: Page): string {
  const all = routes.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const rest = all.filter(
    ({ name }) => (after === undefined || name > after) && (before === undefined || name < before),
  );
  const page = before === undefined ? rest.slice(0, limit) : rest.slice(-limit);
  const data = page.map(modelObject);
  const ids = { first_id: data[0]?.["id"] ?? null, last_id: data.at(-1)?.["id"] ?? null };
  return JSON.stringify({ object: "list", data, has_more: page.length < rest.length, ...ids });
}

/** The name in a path, where slashes may stand as they are; undefined for an escape that is none. */
export function decodeModelName(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
