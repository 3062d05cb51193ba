import { Code, ConnectError } from "@connectrpc/connect";
import { parseManifests } from "../../config/manifest.ts";
import { renderProblems } from "../../config/problem.ts";
import { unsupported } from "../../config/unsupported.ts";
import type { NamedObjects } from "../named-objects.ts";

interface Read extends NamedObjects {
  /** Why some of them cannot be, whatever there is beside them; to be told with what else is wrong. */
  readonly refusals: readonly string[];
}

/** What manifests hold, each kind in their order. Throws with every reason when any of them cannot be read. */
export function objectsOf(files: readonly { readonly manifest: string; readonly fileName: string }[]): Read {
  const parsed = parseManifests(
    files.map(({ manifest, fileName }) => ({ text: manifest, fileName: fileName === "" ? "manifest" : fileName })),
  );
  if (!parsed.ok) throw new ConnectError(renderProblems(parsed.error), Code.InvalidArgument);
  const objects = parsed.value;
  return {
    refusals: objects.flatMap(unsupported),
    profiles: objects.flatMap((object) => (object.kind === "Profile" ? [object.profile] : [])),
    aliases: objects.flatMap((object) => (object.kind === "Alias" ? [object.alias] : [])),
    upstreams: objects.flatMap((object) => (object.kind === "Upstream" ? [object.upstream] : [])),
  };
}

/** With every reason. */
export const refusedFor = (reasons: readonly string[]): ConnectError =>
  new ConnectError(reasons.join("\n"), Code.InvalidArgument);
