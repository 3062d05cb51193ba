import { create } from "@bufbuild/protobuf";
import { type Upstream, upstreamId } from "../../core/upstream.ts";
import { type ExplainResponse, ExplainResponseSchema } from "../../wire/gen/llmgw/v1/admin_pb.js";
import { UpstreamExplanationSchema } from "../../wire/gen/llmgw/v1/upstream_pb.js";
import { toText } from "../../wire/scalar.ts";
import type { ControlPlane } from "../control-plane.ts";
import { aliasesTo } from "../named-objects.ts";
import { inForceInWords, type UpstreamSecrets } from "./secrets.ts";

/** Undefined: no upstream has that name. */
export function explainUpstream(
  { loop, routers, upstreamSecrets }: Pick<ControlPlane, "loop" | "routers" | "upstreamSecrets">,
  name: string,
): ExplainResponse | undefined {
  const { snapshot } = loop;
  const upstream = snapshot.upstreams.find((stored) => stored.upstream.name === name)?.upstream;
  if (upstream === undefined) return undefined;
  const { url, models, keyFile = "", caFile = "", concurrency = 0 } = upstream;
  return create(ExplainResponseSchema, {
    upstream: create(UpstreamExplanationSchema, {
      ...{ name, url, keyFile, caFile, concurrency },
      models: models.map((model) => ({ ...model })),
      trouble: toText(upstreamSecrets.troubleOf(upstream) ?? ""),
      inFlight: routers.inFlight(upstreamId(name)),
      asked: upstreamSecrets.of(upstream).ok,
      aliases: [...aliasesTo(snapshot, "upstream", name)],
    }),
  });
}

/** What an operator should look at of it; at most one sentence. */
export function upstreamConcern(
  upstream: Upstream,
  secrets: Pick<UpstreamSecrets, "of" | "troubleOf">,
): readonly string[] {
  const trouble = secrets.troubleOf(upstream);
  if (trouble === undefined) return [];
  return [`upstream ${upstream.name}: ${trouble}; ${inForceInWords(secrets.of(upstream).ok)}`];
}
