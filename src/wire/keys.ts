import { create } from "@bufbuild/protobuf";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import type { KeyGrant, KeyLimits, KeySet } from "../core/client-key.ts";
import { millis } from "../core/ids.ts";
import { type KeyLimits as WireKeyLimits, KeyLimitsSchema } from "./gen/llmgw/v1/common_pb.js";
import { type ClientKey, ClientKeySchema, type KeySet as WireKeySet, KeySetSchema } from "./gen/llmgw/v1/router_pb.js";
import { toText, toTimestamp, toUint32, zeroAsUnknown } from "./scalar.ts";

export const keySetToWire = ({ revision, keys, shared = false }: KeySet): WireKeySet =>
  create(KeySetSchema, { revision: toUint32(revision), keys: keys.map(grantToWire), shared });

/** Total: what a message leaves out is empty, without a limit, or never. */
export const keySetFromWire = ({ revision, keys, shared }: WireKeySet): KeySet => ({
  revision,
  keys: keys.map(grantFromWire),
  shared,
});

export const limitsToWire = (limits: KeyLimits): WireKeyLimits =>
  create(KeyLimitsSchema, {
    requestsPerMinute: toUint32(limits.requestsPerMinute),
    tokensPerMinute: limits.tokensPerMinute ?? 0,
    concurrency: toUint32(limits.concurrency),
    tokensPerDay: limits.tokensPerDay ?? 0,
    tokensPerMonth: limits.tokensPerMonth ?? 0,
  });

export const limitsFromWire = (limits: WireKeyLimits | undefined): KeyLimits => ({
  requestsPerMinute: asLimit(limits?.requestsPerMinute),
  tokensPerMinute: asLimit(limits?.tokensPerMinute),
  concurrency: asLimit(limits?.concurrency),
  tokensPerDay: asLimit(limits?.tokensPerDay),
  tokensPerMonth: asLimit(limits?.tokensPerMonth),
});

const asLimit = (n: number | undefined): number | undefined => zeroAsUnknown(n ?? 0, (limit) => limit);

const grantToWire = ({ id, name, sha256, models, limits, expiresAt }: KeyGrant): ClientKey =>
  create(ClientKeySchema, {
    id,
    name: toText(name),
    sha256,
    models: models.map(toText),
    limits: limitsToWire(limits),
    ...(expiresAt === undefined ? {} : { expiresAt: toTimestamp(expiresAt) }),
  });

const grantFromWire = ({ id, name, sha256, models, limits, expiresAt }: ClientKey): KeyGrant => ({
  id,
  name,
  sha256,
  models,
  limits: limitsFromWire(limits),
  expiresAt: expiresAt === undefined ? undefined : millis(timestampMs(expiresAt)),
});
