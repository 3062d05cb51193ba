import { isOpenHttp } from "../../config/server-address.ts";
import type { NewEvent } from "../../core/event.ts";
import type { Millis } from "../../core/ids.ts";
import { ok, type Result } from "../../core/result.ts";
import type { StoredUpstream, Upstream } from "../../core/upstream.ts";
import type { Snapshot } from "../../store/store.ts";
import type { Change } from "../manifest-change.ts";
import { type NamedObjects, serversOf } from "../named-objects.ts";
import { type AppliedNamed, dropNamed, type NamedKind, putNamed } from "../put-named.ts";

/** Why upstreams do not go together with each other and with profiles: a model name leads to one place. */
export function upstreamProblems({ profiles, upstreams }: NamedObjects): readonly string[] {
  return upstreams.flatMap((upstream, index) =>
    upstream.models.flatMap(({ name }) =>
      serversOf(name, { profiles, upstreams: upstreams.slice(0, index) }).map(
        (other) => `${upstream.name}: the model name ${name} of the upstream is served by ${other} too`,
      ),
    ),
  );
}

/** What is to be thought about before an upstream is applied, in sentences without their full stops. */
export function upstreamWarnings(upstream: Upstream): readonly string[] {
  if (!isOpenHttp(upstream.url) || upstream.keyFile === undefined) return [];
  return ["its address is plain http: anyone on the way can read its key and what clients ask"];
}

const UPSTREAMS: NamedKind<Upstream, StoredUpstream> = {
  subjectKind: "upstream",
  reasons: { created: "UpstreamCreated", changed: "UpstreamChanged", deleted: "UpstreamDeleted" },
  objectOf: ({ upstream }) => upstream,
  toStored: (upstream, times) => ({ upstream, ...times }),
};

/** Remembers upstreams of which {@link upstreamProblems} had nothing to say. */
export function putUpstreams(
  before: Snapshot,
  upstreams: readonly Upstream[],
  now: Millis,
): Change<readonly AppliedNamed[]> {
  const { stored, events, answer } = putNamed(UPSTREAMS, before.upstreams, { wanted: upstreams, now });
  if (stored === before.upstreams) return { snapshot: before, events, answer };
  const changed = new Set(answer.filter(({ outcome }) => outcome !== "unchanged").map(({ name }) => name));
  const warnings = upstreams.filter(({ name }) => changed.has(name)).flatMap(warningEvents);
  return { snapshot: { ...before, upstreams: stored }, events: [...events, ...warnings], answer };
}

const warningEvents = (upstream: Upstream): readonly NewEvent[] =>
  upstreamWarnings(upstream).map((warning) => ({
    level: "warning",
    subjectKind: "upstream",
    subject: upstream.name,
    reason: "UpstreamInTheClear",
    message: `upstream ${upstream.name}: ${warning}`,
  }));

/** The error is the names of those that there are. What is in flight runs to its end. */
export function deleteUpstream(before: Snapshot, name: string): Result<Change<undefined>, readonly string[]> {
  const dropped = dropNamed(UPSTREAMS, before.upstreams, name);
  if (!dropped.ok) return dropped;
  const { stored, events } = dropped.value;
  return ok({ snapshot: { ...before, upstreams: stored }, events, answer: undefined });
}
