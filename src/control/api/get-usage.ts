import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { didYouMean } from "../../core/nearest.ts";
import { dayFromText, dayText } from "../../core/usage.ts";
import type { StoredKey } from "../../store/store.ts";
import type { UsageGroup, UsageSum } from "../../store/usage.ts";
import {
  type GetUsageRequest,
  type GetUsageResponse,
  GetUsageResponseSchema,
  UsageRowSchema,
} from "../../wire/gen/llmgw/v1/usage_pb.js";
import { toText } from "../../wire/scalar.ts";
import type { ControlPlane } from "../control-plane.ts";

const GROUPS: readonly UsageGroup[] = ["key", "model", "day"];

/** Sums of what is counted for good: the last second of a router is not among it yet. */
export async function getUsage(
  { loop, store }: Pick<ControlPlane, "loop" | "store">,
  { by, since, until, key, model }: GetUsageRequest,
): Promise<GetUsageResponse> {
  const sums = await store.usage.sums({
    by: by.map(groupOf),
    since: dayOrUndefined("since", since),
    until: dayOrUndefined("until", until),
    keyIds: key === "" ? undefined : keyIds(loop.snapshot.keys, key),
    model: model === "" ? undefined : model,
  });
  return create(GetUsageResponseSchema, { rows: sums.map(rowOf) });
}

function groupOf(text: string): UsageGroup {
  const group = GROUPS.find((one) => one === text);
  if (group !== undefined) return group;
  throw new ConnectError(
    `usage is grouped by key, model and day, not by ${JSON.stringify(text)}`,
    Code.InvalidArgument,
  );
}

function dayOrUndefined(name: string, text: string): number | undefined {
  if (text === "") return undefined;
  const day = dayFromText(text);
  if (day !== undefined) return day;
  throw new ConnectError(`${name} takes a day as 2026-10-17, not ${JSON.stringify(text)}`, Code.InvalidArgument);
}

/** Keys of that name, those that were revoked too: what they used was used. */
function keyIds(keys: readonly StoredKey[], asked: string): readonly string[] {
  const found = keys.filter(({ id, name }) => id === asked || name === asked).map(({ id }) => id);
  if (found.length > 0) return found;
  const names = keys.map(({ name }) => name);
  throw new ConnectError(`There is no client key "${asked}".${didYouMean(asked, names)}`, Code.NotFound);
}

const rowOf = ({ keyId, keyName, model, day, ...sum }: UsageSum) =>
  create(UsageRowSchema, {
    keyId: keyId ?? "",
    keyName: toText(keyName ?? ""),
    model: toText(model ?? ""),
    day: day === undefined ? "" : dayText(day),
    requests: sum.requests,
    promptTokens: sum.prompt,
    cachedTokens: sum.cached,
    completionTokens: sum.completion,
    estimated: sum.estimated,
  });
