import type { z } from "zod";
import type { Upstream, UpstreamModel } from "../core/upstream.ts";
import type { Loose } from "./check.ts";
import { spell } from "./in-force.ts";
import { upstreamSchema } from "./manifest-schema.ts";
import { repeated } from "./overlap.ts";
import type { DeepReadonly } from "./problem.ts";
import type { Violation } from "./reader.ts";
import { secretFilePath } from "./secret-file.ts";

type Written = DeepReadonly<z.output<typeof upstreamSchema>>;
type Models = Written["models"];

const isList = (models: Loose<Models>): models is Loose<readonly string[]> => Array.isArray(models);

/** The names that clients ask for, as far as they could be read. */
export const namesIn = (models: Loose<Models> = []): readonly (string | undefined)[] =>
  isList(models) ? models : Object.keys(models);

/** A checked document. */
export function normaliseUpstream({ name, url, api_key: key, ca, models, concurrency }: Written): Upstream {
  return {
    name,
    url,
    ...(key === undefined ? {} : { keyFile: secretFilePath(key) }),
    ...(ca === undefined ? {} : { caFile: ca }),
    ...(concurrency === undefined ? {} : { concurrency }),
    models: modelsOf(models),
  };
}

function modelsOf(models: Models): readonly UpstreamModel[] {
  if (Array.isArray(models)) return (models as readonly string[]).map((name) => ({ name, remote: name }));
  return Object.entries(models as Readonly<Record<string, string>>).map(([name, remote]) => ({ name, remote }));
}

/** The upstream as a manifest in JSON, which is read back to the same upstream. */
export function upstreamManifest({ name, url, keyFile, caFile, models, concurrency }: Upstream): string {
  const isPlain = models.every((model) => model.name === model.remote);
  const written = {
    kind: "Upstream",
    name,
    url,
    api_key: keyFile === undefined ? undefined : `file:${keyFile}`,
    ca: caFile,
    models: isPlain
      ? models.map((model) => model.name)
      : Object.fromEntries(models.map((model) => [model.name, model.remote])),
    concurrency,
  };
  return JSON.stringify(spell(upstreamSchema, written), undefined, 2);
}

/** What must hold between the keys of an upstream, and inside its address. */
export const upstreamRules = (upstream: Loose<Written>): readonly Violation[] => [
  ...modelsOnce(upstream),
  ...addressIsBare(upstream),
  ...caNeedsTls(upstream),
];

function modelsOnce({ models }: Loose<Written>): readonly Violation[] {
  const names = namesIn(models);
  const isNone = models !== undefined && names.length === 0;
  const none = { path: ["models"], message: "models must not be empty", hint: "name at least one model" };
  const twice = repeated(names).map(({ index, value }) => ({
    path: ["models", index],
    message: `models holds ${value} twice`,
  }));
  return [...(isNone ? [none] : []), ...twice];
}

function addressIsBare({ url }: Loose<Written>): readonly Violation[] {
  const parsed = url === undefined ? null : URL.parse(url);
  if (parsed === null) return [];
  const hasUser = parsed.username !== "" || parsed.password !== "";
  const user = { path: ["url"], message: "url must not hold a user or a password", hint: "api_key names a file" };
  const more = { path: ["url"], message: 'url must end before any "?" or "#"' };
  return [...(hasUser ? [user] : []), ...(parsed.search === "" && parsed.hash === "" ? [] : [more])];
}

function caNeedsTls({ url, ca }: Loose<Written>): readonly Violation[] {
  const isOpen = url !== undefined && ca !== undefined && !/^https:/i.test(url);
  return isOpen ? [{ path: ["ca"], message: "ca is for an address that begins with https://" }] : [];
}
