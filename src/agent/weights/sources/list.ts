import { assertNever, type Result } from "../../../core/result.ts";
import type { ModelSource } from "../../../core/source.ts";
import type { WeightFailure } from "../failure.ts";
import { dirSource } from "./dir.ts";
import { fileSource } from "./file.ts";
import { hfSource } from "./hf.ts";
import { httpsSource } from "./https.ts";
import { pypiSource } from "./pypi.ts";
import type { Described, SourceContext } from "./source.ts";
import { tinySource } from "./tiny.ts";

/** Asks the source what it has. A new kind of source does not compile until it is here. */
export function describeSource(
  source: ModelSource,
  context: SourceContext,
  signal: AbortSignal,
): Promise<Result<Described, WeightFailure>> {
  switch (source.kind) {
    case "hf":
      return hfSource.describe(source, context, signal);
    case "https":
      return httpsSource.describe(source, context, signal);
    case "file":
      return fileSource.describe(source, context, signal);
    case "dir":
      return dirSource.describe(source, context, signal);
    case "pypi":
      return pypiSource.describe(source, context, signal);
    case "tiny":
      return tinySource.describe(source, context, signal);
    default:
      return assertNever(source);
  }
}
