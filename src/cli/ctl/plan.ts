import type { PlannedChange } from "../../wire/gen/llmgw/v1/changing_pb.js";
import { PlanResponseSchema } from "../../wire/gen/llmgw/v1/changing_pb.js";
import { create } from "@bufbuild/protobuf";
import type { Call } from "../command.ts";
import { reportFailure } from "../failure.ts";
import { type Colours, coloursFor } from "../io.ts";
import { readManifests } from "./manifests.ts";
import { isDocument, outputOf, plain, printDocument } from "./output.ts";
import { withSession } from "./session.ts";

type Page = (changes: readonly PlannedChange[], colours: Colours) => string;

/**
 * Asks what applying the files would do and shows it. The exit code is that of `diff`: 0 nothing would change, 1 something
 * would, 2 for every failure, so that a script cannot take "no control plane" for "something would change".
 */
export async function showPlan(call: Call, page: Page): Promise<number> {
  const output = outputOf(call);
  try {
    const files = (await readManifests(call)).map(({ text, fileName }) => ({
      manifest: text,
      fileName,
    }));
    return await withSession(call, async ({ client }) => {
      const { changes } = await client.plan({ files });
      if (isDocument(output))
        printDocument(call, output, plain(PlanResponseSchema, create(PlanResponseSchema, { changes })));
      else call.io.stdout.write(page(changes, coloursFor(call.io.stdout, call.io.env)));
      return changes.some(({ outcome }) => outcome !== "unchanged") ? 1 : 0;
    });
  } catch (error) {
    reportFailure(error, call.io, output === "json");
    return 2;
  }
}
