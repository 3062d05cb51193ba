/** What only the process around a control plane knows, for those who look after it. */
export interface Support {
  /** server.yaml as it is in force, secrets hidden. */
  readonly configuration: () => string;
  /** Prometheus' exposition text. */
  readonly metrics: () => Promise<string>;
  /** A whole copy of the store, piece by piece; it is there until the reader leaves. Fails in words where there can be none. */
  readonly copyStore: () => AsyncIterable<Uint8Array>;
}
