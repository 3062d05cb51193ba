import { create } from "@bufbuild/protobuf";
import type { SharedLimits } from "../core/client-key.ts";
import {
  type Demand as WireDemand,
  DemandSchema,
  type KeyDemand as WireKeyDemand,
  KeyDemandSchema,
  type KeyShare,
  KeyShareSchema,
  type LimitDemand as WireLimitDemand,
  LimitDemandSchema,
} from "./gen/llmgw/v1/usage_pb.js";
import { asCount, toUint32 } from "./scalar.ts";

/** What a router has of one limit, uses of it and would use. */
export interface Demand {
  readonly share: number;
  readonly used: number;
  readonly wanted: number;
}

/** Undefined: the key has no such limit. */
export interface KeyDemand extends Readonly<Record<keyof SharedLimits, Demand | undefined>> {
  readonly keyId: string;
}

export interface LimitDemand {
  /** Of the shares that are in force; 0: none that came on this stream. */
  readonly revision: number;
  readonly keys: readonly KeyDemand[];
  readonly leaving: boolean;
}

export const demandToWire = ({ revision, keys, leaving }: LimitDemand): WireLimitDemand =>
  create(LimitDemandSchema, { revision: toUint32(revision), keys: keys.map(keyDemandToWire), leaving });

const keyDemandToWire = ({ keyId, requestsPerMinute, tokensPerMinute, concurrency }: KeyDemand): WireKeyDemand =>
  create(KeyDemandSchema, {
    keyId,
    ...(requestsPerMinute === undefined ? {} : { requestsPerMinute: create(DemandSchema, requestsPerMinute) }),
    ...(tokensPerMinute === undefined ? {} : { tokensPerMinute: create(DemandSchema, tokensPerMinute) }),
    ...(concurrency === undefined ? {} : { concurrency: create(DemandSchema, concurrency) }),
  });

/** Total: what is no count is nothing. */
export const demandFromWire = ({ revision, keys, leaving }: WireLimitDemand): LimitDemand => ({
  revision,
  leaving,
  keys: keys.map(({ keyId, requestsPerMinute, tokensPerMinute, concurrency }) => ({
    keyId,
    requestsPerMinute: demand(requestsPerMinute),
    tokensPerMinute: demand(tokensPerMinute),
    concurrency: demand(concurrency),
  })),
});

const demand = (wire: WireDemand | undefined): Demand | undefined =>
  wire === undefined
    ? undefined
    : { share: asCount(wire.share), used: asCount(wire.used), wanted: asCount(wire.wanted) };

export const sharesToWire = (keyId: string, shares: SharedLimits): KeyShare => {
  const { requestsPerMinute, tokensPerMinute, concurrency } = shares;
  return create(KeyShareSchema, {
    keyId,
    ...(requestsPerMinute === undefined ? {} : { requestsPerMinute }),
    ...(tokensPerMinute === undefined ? {} : { tokensPerMinute }),
    ...(concurrency === undefined ? {} : { concurrency }),
  });
};

export const sharesFromWire = ({ requestsPerMinute, tokensPerMinute, concurrency }: KeyShare): SharedLimits => ({
  requestsPerMinute: share(requestsPerMinute),
  tokensPerMinute: share(tokensPerMinute),
  concurrency: share(concurrency),
});

const share = (n: number | undefined): number | undefined => (n === undefined ? undefined : asCount(n));
