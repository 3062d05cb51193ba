import { expect, test } from "vitest";
import type { GangPart } from "../../core/gang-part.ts";
import { gpuUuid } from "../../core/ids.ts";
import type { Launch } from "../engine.ts";
import { cutOf } from "./cut.ts";

const launch = (gpus: number, ranks: number, parallel?: Launch["parallel"]): Launch => ({
  ...{ binary: "/b", modelPath: "/w", serves: ["m"], context: undefined, host: "h", port: 1 },
  ...{ apiKey: "", args: [], env: {}, workDir: "/r" },
  gpus: Array.from({ length: gpus }, (_, n) => gpuUuid(`GPU-${String(n)}`)),
  ...(ranks === 1 ? {} : { gang: { ranks } as GangPart }),
  ...(parallel === undefined ? {} : { parallel }),
});

test.each([
  { name: "as the profile says", of: launch(4, 2, { tensor: 4, pipeline: 2 }), cut: [4, 2] },
  { name: "one GPU", of: launch(1, 1), cut: [1, 1] },
  { name: "no word, and several GPUs", of: launch(4, 1), cut: [4, 1] },
  { name: "more GPUs than it says", of: launch(2, 1, { tensor: 1, pipeline: 1 }), cut: [2, 1] },
  { name: "stages are kept where they divide", of: launch(4, 1, { tensor: 1, pipeline: 2 }), cut: [2, 2] },
  { name: "and given up where they do not", of: launch(3, 1, { tensor: 1, pipeline: 2 }), cut: [3, 1] },
  { name: "of all ranks together", of: launch(4, 2), cut: [8, 1] },
  { name: "the CPU", of: launch(0, 1, { tensor: 2, pipeline: 1 }), cut: [2, 1] },
])("$name", ({ of, cut: [tensor, pipeline] }) => {
  expect(cutOf(of)).toEqual({ tensor, pipeline });
});
