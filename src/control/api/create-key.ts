import { create } from "@bufbuild/protobuf";
import { Code, ConnectError, type HandlerContext } from "@connectrpc/connect";
import type { KeyLimits } from "../../core/client-key.ts";
import { isNodeName, type Millis } from "../../core/ids.ts";
import type { StoredKey } from "../../store/store.ts";
import {
  type CreateKeyRequest,
  type CreateKeyResponse,
  CreateKeyResponseSchema,
} from "../../wire/gen/llmgw/v1/admin_pb.js";
import { limitsFromWire } from "../../wire/keys.ts";
import { callerInWords, callerName } from "../caller.ts";
import type { ControlPlane } from "../control-plane.ts";
import { createKey } from "../keys/key-change.ts";
import { expiryFromWire, keyToWire } from "../keys/key-set.ts";
import { mintClientKey } from "../keys/mint-key.ts";

/** Longer than any model's name. */
const LONGEST_MODEL = 512;

/** Makes a key. Its owner's copy is in the answer and nowhere else. */
export async function makeKey(
  { loop, clock }: ControlPlane,
  { name, models, limits: asked, expiresAt: until }: CreateKeyRequest,
  context: HandlerContext,
): Promise<CreateKeyResponse> {
  const now = clock.now();
  const limits = limitsFromWire(asked);
  const expiresAt = expiryFromWire(until);
  const problems = [...nameProblems(name), ...modelProblems(models), ...limitProblems(limits), ...past(expiresAt, now)];
  if (problems.length > 0) throw new ConnectError(problems.join("\n"), Code.InvalidArgument);
  const { secret, ...minted } = mintClientKey();
  const key: StoredKey = {
    ...minted,
    name,
    models: [...new Set(models)].toSorted(),
    limits,
    expiresAt,
    createdAt: now,
    createdBy: callerName(context),
    revokedAt: undefined,
  };
  const created = await loop.change((snapshot) => createKey(snapshot, key, callerInWords(context)));
  if (!created.ok) {
    const reason = `there is a client key "${name}" already: revoke it first, or take another name`;
    throw new ConnectError(reason, Code.AlreadyExists);
  }
  return create(CreateKeyResponseSchema, { key: keyToWire(created.value, now), secret });
}

const nameProblems = (name: string): readonly string[] =>
  isNodeName(name)
    ? []
    : [`a key's name is made of letters, digits, dots, dashes and underscores, not ${JSON.stringify(name)}`];

const modelProblems = (models: readonly string[]): readonly string[] =>
  models
    .filter((model) => model.trim() !== model || model === "" || model.length > LONGEST_MODEL)
    .map((model) => `${JSON.stringify(model.slice(0, LONGEST_MODEL))} is no model's name`);

const limitProblems = (limits: KeyLimits): readonly string[] =>
  Object.entries(limits)
    .filter(
      ([, limit]: [string, number | undefined]) => limit !== undefined && !(Number.isSafeInteger(limit) && limit > 0),
    )
    .map(([name, limit]: [string, number | undefined]) => `${name} takes a whole number above 0, not ${String(limit)}`);

const past = (expiresAt: Millis | undefined, now: Millis): readonly string[] =>
  expiresAt === undefined || expiresAt > now ? [] : ["the key would have expired already"];
