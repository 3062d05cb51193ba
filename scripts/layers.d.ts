export interface Layer {
  readonly folder: string;
  /** No clock, no chance, no I/O. */
  readonly pure: boolean;
  /** Folders of ours. */
  readonly imports: readonly string[];
  /** Packages from outside; "node:" stands for all of Node's own modules. */
  readonly packages: readonly string[];
  readonly why: string;
}

export declare const LAYERS: readonly Layer[];
