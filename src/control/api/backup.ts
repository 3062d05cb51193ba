import { createHash } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { LlmgwError } from "../../core/errors.ts";
import { type BackupResponse, BackupResponseSchema } from "../../wire/gen/llmgw/v1/operating_pb.js";
import type { ControlPlane } from "../control-plane.ts";

/** The store piece by piece, and at last its hash: whoever did not get that has no whole copy. */
export async function* backup({ support }: Pick<ControlPlane, "support">): AsyncGenerator<BackupResponse> {
  if (support === undefined) throw new ConnectError("this control plane keeps nothing on a disk", Code.Unimplemented);
  const hash = createHash("sha256");
  let bytes = 0;
  try {
    for await (const chunk of support.copyStore()) {
      hash.update(chunk);
      bytes += chunk.byteLength;
      yield create(BackupResponseSchema, { part: { case: "chunk", value: chunk } });
    }
  } catch (error) {
    if (error instanceof LlmgwError) throw new ConnectError(error.message, Code.FailedPrecondition);
    throw error;
  }
  yield create(BackupResponseSchema, { part: { case: "end", value: { bytes, sha256: hash.digest("hex") } } });
}
