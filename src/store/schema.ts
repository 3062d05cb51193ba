import type { ColumnType, Generated } from "kysely";

/** A number that may need more than 32 bits: some databases give it as text. */
type Wide = ColumnType<number | string, number, number>;

/** Bodies are JSON of core values; the columns beside them are what queries need. */
export interface Tables {
  readonly meta: { readonly key: string; readonly value: string };
  readonly profiles: {
    readonly name: string;
    readonly body: string;
    readonly manifest: string;
    readonly revisions: string;
    readonly created_at: number;
    readonly updated_at: number;
  };
  readonly aliases: { readonly name: string; readonly body: string };
  readonly upstreams: { readonly name: string; readonly body: string };
  readonly specs: { readonly profile: string; readonly spec_hash: string; readonly body: string };
  readonly nodes: { readonly id: string; readonly body: string };
  readonly replicas: { readonly id: string; readonly profile: string; readonly body: string };
  readonly models: { readonly source: string; readonly body: string };
  readonly measurements: { readonly key: string; readonly body: string };
  readonly client_keys: { readonly id: string; readonly sha256: string; readonly body: string };
  readonly tokens: { readonly id: string; readonly sha256: string; readonly body: string };
  readonly usage_days: {
    readonly key_id: string;
    /** Days since 1970 in UTC. */
    readonly day: number;
    readonly model: string;
    readonly key_name: string;
    readonly requests: Wide;
    readonly prompt_tokens: Wide;
    readonly cached_tokens: Wide;
    readonly completion_tokens: Wide;
    readonly estimated: Wide;
  };
  readonly usage_sources: {
    readonly instance: string;
    readonly last: Wide;
    readonly heard_at: Wide;
    readonly ended: number;
  };
  readonly usage_recent: {
    readonly instance: string;
    readonly first: Wide;
    readonly at: Wide;
    readonly records: number;
    readonly body: string;
  };
  readonly events: {
    readonly id: Generated<number>;
    readonly at: number;
    readonly level: string;
    readonly subject_kind: string;
    readonly subject: string;
    readonly reason: string;
    readonly message: string;
  };
}
