import { Code, ConnectError } from "@connectrpc/connect";
import { parseManifests } from "../../config/manifest.ts";
import { renderProblems } from "../../config/problem.ts";
import { unsupported } from "../../config/unsupported.ts";
import type { NamedObjects } from "../named-objects.ts";

/** What manifests hold, each kind in their order. Throws with every reason when any of them is wrong. */
export function objectsOf(files: readonly { readonly manifest: string; readonly fileName: string }[]): NamedObjects {
  const parsed = parseManifests(
    files.map(({ manifest, fileName }) => ({ text: manifest, fileName: fileName === "" ? "manifest" : fileName })),
  );
  if (!parsed.ok) throw new ConnectError(renderProblems(parsed.error), Code.InvalidArgument);
  const objects = parsed.value;
  const refusals = objects.flatMap(unsupported);
  if (refusals.length > 0) throw new ConnectError(refusals.join("\n"), Code.InvalidArgument);
  return {
    profiles: objects.flatMap((object) => (object.kind === "Profile" ? [object.profile] : [])),
    aliases: objects.flatMap((object) => (object.kind === "Alias" ? [object.alias] : [])),
    upstreams: objects.flatMap((object) => (object.kind === "Upstream" ? [object.upstream] : [])),
  };
}
