import { join } from "node:path";
import { fingerprint } from "../../../core/fingerprint.ts";
import { err, type Result } from "../../../core/result.ts";
import { readTextIfThere, removeIfThere } from "../../../platform/files.ts";
import { sha256Of } from "../../../platform/sha256.ts";
import { countOf, fieldsOf, listOf, parseJson, textOf } from "../../../wire/json-value.ts";
import type { WeightFailure } from "../failure.ts";
import { isSafeName, type RemoteFile } from "../offer.ts";
import type { WeightRecord } from "../record.ts";
import type { Described, FetchedWeights } from "../sources/source.ts";
import type { SharedJob } from "./fetch-shared.ts";

/** What a source offers, as a node that has asked it can tell another that cannot: given like a file, under this folder's name. */
export const LISTINGS = "@listing";

export const listingKey = (identity: string): string => `${LISTINGS}/${fingerprint(identity)}`;

export interface Listing {
  readonly key: string;
  readonly data: Buffer;
  /** Hex. */
  readonly sha256: string;
}

/** Of a folder that holds something; one for each name that its source goes by. */
export function listingsOf(folder: string, { identities, offered, held }: WeightRecord): readonly Listing[] {
  if (held.length === 0) return [];
  return identities.map((identity) => {
    const data = Buffer.from(JSON.stringify({ identity, folder, files: offered }));
    return { key: listingKey(identity), data, sha256: sha256Of(data) };
  });
}

interface ListingOrder {
  readonly dir: string;
  readonly identity: string;
  /** As the profile has it. */
  readonly source: string;
  /** Why the source itself said nothing. */
  readonly failure: WeightFailure;
  readonly signal: AbortSignal;
  readonly share: (job: SharedJob) => Promise<Result<FetchedWeights, WeightFailure>>;
}

/** The source as another node knows it, for a node that cannot reach it; undefined when none does. */
export async function describeByPeers(order: ListingOrder): Promise<Described | undefined> {
  const { dir, identity, source, failure, signal, share } = order;
  const key = listingKey(identity);
  const target = join(dir, `.${fingerprint(identity)}.listing`);
  const request = { target, sha256: undefined, signal, onProgress: () => undefined };
  const unreachable = (): Promise<Result<FetchedWeights, WeightFailure>> => Promise.resolve(err(failure));
  const settle = (): Promise<void> => Promise.resolve();
  const got = await share({ key, source, bytes: 0, request, fromOrigin: unreachable, settle });
  if (!got.ok) return undefined;
  const text = (await readTextIfThere(target)) ?? "";
  await removeIfThere(target);
  const listing = parseListing(text);
  if (listing?.identity !== identity) return undefined;
  const { folder, files } = listing;
  return { kind: "remote", folder, files, fetch: unreachable, settle };
}

/** Undefined when it is none, or names a place that is no file of a weights folder. */
export function parseListing(text: string):
  | {
      readonly identity: string;
      readonly folder: string;
      readonly files: readonly RemoteFile[];
    }
  | undefined {
  const raw = fieldsOf(parseJson(text));
  const [identity, folder] = [textOf(raw["identity"]), textOf(raw["folder"])];
  const files = listOf(raw["files"]).flatMap((one): readonly RemoteFile[] => {
    const { name, bytes, sha256 } = fieldsOf(one);
    const isFile = isSafeName(textOf(name)) && countOf(bytes) !== undefined;
    return isFile
      ? [{ name: textOf(name), bytes: countOf(bytes) ?? 0, sha256: textOf(sha256) === "" ? undefined : textOf(sha256) }]
      : [];
  });
  const isOne = identity !== "" && isSafeName(folder) && !folder.includes("/") && files.length > 0;
  return isOne ? { identity, folder, files } : undefined;
}

const PASSED_OVER: readonly string[] = ["network", "stalled", "offline", "http", "rate-limited"];

/** Whether it is the way to the source that is missing. A source's own no is no reason to ask others for the model. */
export const isOutOfReach = ({ kind }: WeightFailure): boolean => PASSED_OVER.includes(kind);
