import { isLoopback } from "../../config/ip.ts";
import type { NewEvent } from "../../core/event.ts";
import { canonicalJson } from "../../core/fingerprint.ts";
import type { Millis } from "../../core/ids.ts";
import { err, ok, type Result } from "../../core/result.ts";
import { type Upstream, upstreamHost } from "../../core/upstream.ts";
import type { Snapshot } from "../../store/store.ts";
import type { AppliedProfile, Change } from "../manifest-change.ts";
import { type NamedObjects, serversOf } from "../named-objects.ts";

interface AppliedUpstream {
  readonly name: string;
  readonly outcome: AppliedProfile["outcome"];
}

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
  const isOpen = /^http:/i.test(upstream.url) && !isLoopback(upstreamHost(upstream));
  if (!isOpen || upstream.keyFile === undefined) return [];
  return ["its address is plain http: anyone on the way can read its key and what clients ask"];
}

/** Remembers upstreams of which {@link upstreamProblems} had nothing to say. */
export function putUpstreams(
  before: Snapshot,
  upstreams: readonly Upstream[],
  now: Millis,
): Change<readonly AppliedUpstream[]> {
  const stored = new Map(before.upstreams.map((one) => [one.upstream.name, one]));
  const answer = upstreams.map((upstream): AppliedUpstream => {
    const was = stored.get(upstream.name);
    if (was !== undefined && canonicalJson(was.upstream) === canonicalJson(upstream)) {
      return { name: upstream.name, outcome: "unchanged" };
    }
    stored.set(upstream.name, { upstream, createdAt: was?.createdAt ?? now, updatedAt: now });
    return { name: upstream.name, outcome: was === undefined ? "created" : "changed" };
  });
  const changed = new Set(answer.filter(({ outcome }) => outcome !== "unchanged").map(({ name }) => name));
  const warnings = upstreams.filter(({ name }) => changed.has(name)).flatMap(warningEvents);
  const events = [...answer.filter(({ name }) => changed.has(name)).map(appliedEvent), ...warnings];
  if (events.length === 0) return { snapshot: before, events, answer };
  const sorted = [...stored.values()].toSorted((a, b) => (a.upstream.name < b.upstream.name ? -1 : 1));
  return { snapshot: { ...before, upstreams: sorted }, events, answer };
}

const appliedEvent = ({ name, outcome }: AppliedUpstream): NewEvent => ({
  level: "info",
  subjectKind: "upstream",
  subject: name,
  reason: outcome === "created" ? "UpstreamCreated" : "UpstreamChanged",
  message: `upstream ${name} was ${outcome}`,
});

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
  const upstreams = before.upstreams.filter(({ upstream }) => upstream.name !== name);
  if (upstreams.length === before.upstreams.length) return err(before.upstreams.map(({ upstream }) => upstream.name));
  const event = { level: "info", subjectKind: "upstream", subject: name, reason: "UpstreamDeleted" } as const;
  const events = [{ ...event, message: `upstream ${name} was deleted` }];
  return ok({ snapshot: { ...before, upstreams }, events, answer: undefined });
}
