import type { StreamOptionsSpan } from "./body-spans.ts";

/** What routing needs of a request body. When a key comes twice the last one counts, as for every JSON parser we route to. */
export interface RoutingFields {
  readonly model: ModelField;
  readonly stream: boolean;
  /** `stream_options.include_usage` */
  readonly includeUsage: boolean;
}

/** What is known of a body of which more is to come. What comes can make the fields others. */
export interface SoFar {
  /** Why it is no body that could be read, whatever comes. */
  readonly problem: string | undefined;
  readonly fields: RoutingFields;
  readonly streamOptions: StreamOptionsSpan | undefined;
  /** Where the last byte of its structure is; undefined: that is still to come. */
  readonly close: number | undefined;
}

export type ModelField =
  | { readonly kind: "missing" }
  | { readonly kind: "name"; readonly name: string }
  /** null, a number, a list, or a name longer than any model's. */
  | { readonly kind: "unusable" };
