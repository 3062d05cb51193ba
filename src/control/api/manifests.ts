import { Code, ConnectError } from "@connectrpc/connect";
import { parseManifests } from "../../config/manifest.ts";
import { renderProblems } from "../../config/problem.ts";
import { unsupported } from "../../config/unsupported.ts";
import type { Profile } from "../../core/profile.ts";

/** The profiles of manifests, in their order. Throws with every reason when any of them is wrong. */
export function profilesOf(
  files: readonly { readonly manifest: string; readonly fileName: string }[],
): readonly Profile[] {
  const parsed = parseManifests(
    files.map(({ manifest, fileName }) => ({ text: manifest, fileName: fileName === "" ? "manifest" : fileName })),
  );
  if (!parsed.ok) throw new ConnectError(renderProblems(parsed.error), Code.InvalidArgument);
  const objects = parsed.value;
  const refusals = objects.flatMap(unsupported);
  if (refusals.length > 0) throw new ConnectError(refusals.join("\n"), Code.InvalidArgument);
  return objects.flatMap((object) => (object.kind === "Profile" ? [object.profile] : []));
}
