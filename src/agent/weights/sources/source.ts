import type { Bytes } from "../../../core/ids.ts";
import type { ModelSource } from "../../../core/source.ts";
import type { Result } from "../../../core/result.ts";
import type { Downloader } from "../../../platform/fetch/download.ts";
import type { FileStart } from "../../../platform/fetch/start.ts";
import type { WeightFailure } from "../failure.ts";
import type { RemoteFile } from "../offer.ts";

/** What every source may use. */
export interface SourceContext {
  readonly downloader: Downloader;
  /** The agent's: HF_*, PIP_*, HOME and XDG folders are read from it. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

export interface FetchRequest {
  /** Where the file is to be. */
  readonly target: string;
  /** Hex: what the bytes must be, by the profile or the source. */
  readonly sha256: string | undefined;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: {
    readonly done: Bytes;
    readonly total: Bytes;
    readonly bytesPerSecond: number;
    /** Bytes that came over the network for this request. */
    readonly received: number;
  }) => void;
}

export interface FetchedWeights {
  readonly bytes: number;
  /** Hex. */
  readonly sha256: string;
  /** Hex, of its pieces; left out when only the whole was hashed. */
  readonly pieces?: readonly string[] | undefined;
}

/** A model at its source, at one revision. */
export type Described =
  /** Used where it is. */
  | { readonly kind: "local"; readonly folder: string; readonly files: readonly RemoteFile[] }
  | {
      readonly kind: "remote";
      /** One name, for the folder that this revision gets. */
      readonly folder: string;
      readonly files: readonly RemoteFile[];
      /** Nothing comes from elsewhere, so no other node is asked for it either. */
      readonly isOwn?: boolean;
      fetch(file: RemoteFile, request: FetchRequest): Promise<Result<FetchedWeights, WeightFailure>>;
      /** The first bytes of one of the files, without fetching it. Left out: the source has no way to give them. */
      start?(file: RemoteFile, bytes: number): Promise<Result<FileStart, WeightFailure>>;
      /** Called once everything that was asked for is there: what is only needed for fetching can go. */
      settle(folder: string): Promise<void>;
    };

export interface WeightSource<S extends ModelSource = ModelSource> {
  describe(source: S, context: SourceContext, signal: AbortSignal): Promise<Result<Described, WeightFailure>>;
}

/** A file or folder name out of any text; what is lost on the way is made up for by what the caller adds. */
export const slug = (text: string): string => text.replace(/[^A-Za-z0-9._-]+/g, "-").replace(/^[-.]+/, "");
