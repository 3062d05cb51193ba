import type { EngineSource } from "../../core/desired.ts";
import { messageOf } from "../../core/errors.ts";
import { type Millis, millis, plus } from "../../core/ids.ts";
import type { EngineBuild } from "../../core/node.ts";
import { removeIfThere } from "../../platform/files.ts";
import { usersOf } from "../../platform/folder-users.ts";
import { moveUnlessTaken } from "../../platform/folders.ts";
import type { InstallContext } from "./context.ts";
import { meets } from "./find.ts";
import { type InstalledBuild, listInstalled, stagingPath } from "./staging.ts";

/** Who was given a build starts it as soon as its weights are there, which can take this long. */
const HELD: Millis = millis(60 * 60_000);
const TIDY_EVERY: Millis = millis(60_000);

/** Removes builds that were installed and are of no use any more. */
export interface Unused {
  /** Notes that somebody is about to start the build, and what was wished for. */
  handOut(build: EngineBuild, wanted: EngineSource | undefined): EngineBuild;
  /**
   * Never fails: what cannot be removed now is tried again later. Once the build that is wished for is there, the others go, each when no process runs from it and it was given to nobody
   * lately. Whether it is in use is asked of the kernel, so that engines of an earlier agent count too.
   */
  tidy(): Promise<void>;
}

export function createUnused(context: InstallContext, held: Millis = HELD): Unused {
  const { clock, folder, logger } = context;
  const givenAt = new Map<string, Millis>();
  let wish: EngineSource | undefined;
  let nextLook = millis(0);

  const isHeld = ({ path }: InstalledBuild): boolean => {
    const at = givenAt.get(path);
    return at !== undefined && clock.monotonic() - at < held;
  };

  const remove = async (build: InstalledBuild): Promise<void> => {
    const users = await usersOf(build.folder);
    // Looked at last, since meanwhile somebody may have been given it.
    if (users === "unknown" || users.length > 0 || isHeld(build)) return;
    // Under this name half of it is never taken for a build.
    const aside = await stagingPath(folder);
    if (await moveUnlessTaken(build.folder, aside)) await removeIfThere(aside);
    logger.info(
      { engine: context.engine.name, version: build.version, folder: build.folder },
      "an engine build that nothing uses any more was removed",
    );
  };

  const lookFor = async (wanted: EngineSource): Promise<void> => {
    const hasDriver = (await context.gpuDriver()) !== undefined;
    const installed = await listInstalled(folder);
    const chosen = installed.find((build) => meets(build, wanted, hasDriver));
    if (chosen === undefined) return;
    for (const build of installed) if (build !== chosen && !isHeld(build)) await remove(build);
  };

  return {
    handOut(build, wanted) {
      givenAt.set(build.path, clock.monotonic());
      wish = wanted ?? wish;
      return build;
    },
    async tidy() {
      const now = clock.monotonic();
      if (wish === undefined || now < nextLook) return;
      // Until this look is done there is no other.
      nextLook = millis(Infinity);
      try {
        await lookFor(wish);
      } catch (error) {
        logger.warn(
          { engine: context.engine.name },
          `a build that nothing uses cannot be removed: ${messageOf(error)}`,
        );
      }
      nextLook = plus(clock.monotonic(), millis(Math.min(held, TIDY_EVERY)));
    },
  };
}
