import { Code, ConnectError } from "@connectrpc/connect";
import { parseManifest } from "../../config/manifest.ts";
import { renderProblems } from "../../config/problem.ts";
import { unsupported } from "../../config/unsupported.ts";
import type { Profile } from "../../core/profile.ts";

/** The profiles of manifests, in their order. Throws with every reason when any of them is wrong. */
export function profilesOf(
  files: readonly { readonly manifest: string; readonly fileName: string }[],
): readonly Profile[] {
  const parsed = files.map(({ manifest, fileName }) =>
    parseManifest(manifest, fileName === "" ? "manifest" : fileName),
  );
  const problems = parsed.flatMap((one) => (one.ok ? [] : [renderProblems(one.error)]));
  if (problems.length > 0) throw new ConnectError(problems.join("\n"), Code.InvalidArgument);
  const objects = parsed.flatMap((one) => (one.ok ? one.value : []));
  const refusals = objects.flatMap(unsupported);
  if (refusals.length > 0) throw new ConnectError(refusals.join("\n"), Code.InvalidArgument);
  return objects.flatMap((object) => (object.kind === "Profile" ? [object.profile] : []));
}
