import { resolve } from "node:path";
import { homeFolder, isRoot } from "../platform/user.ts";
import type { Place } from "../run/paths.ts";
import type { Call } from "./command.ts";

/** Who runs this, and where it may write. A relative --data-dir is made absolute: roles may change their folder. */
export function placeOf({ flags, io }: Call): Place {
  const dataDir = flags.text("data-dir");
  return {
    dataDir: dataDir === undefined ? undefined : resolve(dataDir),
    isRoot: isRoot(),
    env: io.env,
    home: homeFolder(io.env),
  };
}
