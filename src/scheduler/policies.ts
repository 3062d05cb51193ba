import { alive } from "./filters/alive.ts";
import { cordoned } from "./filters/cordoned.ts";
import { disk } from "./filters/disk.ts";
import { engine } from "./filters/engine.ts";
import { fabric } from "./filters/fabric.ts";
import { gpus } from "./filters/gpus.ts";
import { memory } from "./filters/memory.ts";
import { selector } from "./filters/selector.ts";
import { split } from "./filters/split.ts";
import { snug } from "./island-scorers/snug.ts";
import type { PlacementPolicy } from "./rules.ts";
import { accelerated } from "./scorers/accelerated.ts";
import { binPack } from "./scorers/bin-pack.ts";
import { linked } from "./scorers/linked.ts";
import { spread } from "./scorers/spread.ts";
import { weightsHeld } from "./scorers/weights-held.ts";

/** The one list. The first filter that says no gives the reason, so the plain ones come first. */
export const DEFAULT_POLICY: PlacementPolicy = {
  filters: [split, alive, cordoned, selector, fabric, engine, gpus, memory, disk],
  scorers: [accelerated, spread, linked, weightsHeld, binPack],
  islandScorers: [snug],
};
