import type { ClientHeaders } from "../client/client-headers.ts";
import type { Later } from "../refusals.ts";

/** Which clusters' routers a request has passed on its way here, in the order of passing. */
const VIA = "x-llmgw-via";

/** No sensible arrangement of gateways is deeper; a circle over routers that do not know who they are ends here. */
const MOST_HOPS = 8;

const CLUSTER = /^[\w.-]{1,128}$/;
/** In the place of a cluster that has not told its name yet. */
const UNNAMED = "llmgw";

function passed(headers: ClientHeaders): readonly string[] {
  const value = headers[VIA];
  if (typeof value !== "string") return [];
  return value
    .split(",")
    .map((name) => name.trim())
    .filter((name) => CLUSTER.test(name));
}

/** The header line of a request that leaves the cluster. */
export function viaLine(headers: ClientHeaders, cluster: string): string {
  return `${VIA}: ${[...passed(headers), cluster === "" ? UNNAMED : cluster].join(", ")}\r\n`;
}

/** Why a request that has come back is not sent on its way again; undefined: it has not. */
export function circleRefusal(headers: ClientHeaders, cluster: string): Later | undefined {
  const names = passed(headers);
  const isBack = cluster !== "" && names.includes(cluster);
  if (!isBack && names.length < MOST_HOPS) return undefined;
  const what = isBack
    ? "This request has been here before: an upstream of this cluster leads back to its own router"
    : `This request has passed ${String(names.length)} routers`;
  const message = `${what}. Whoever applied the upstream has to point its url elsewhere.`;
  return { refusal: { code: "LOOP_DETECTED", message }, headers: ["x-should-retry", "false"] };
}
