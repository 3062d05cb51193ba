/** What a router knows of a prompt without reading it: names for its beginnings, of which engines may hold some in their caches. */
export interface PromptKeys {
  /** One for each beginning that another request may share, the shortest first. A session's own key is one of them. */
  readonly keys: readonly number[];
  /** The same for all requests of one conversation, in every router; undefined when nothing tells them apart. 32 bits. */
  readonly conversation: number | undefined;
}

/** Of a request whose prompt no engine caches, or that has none. */
export const NO_PROMPT: PromptKeys = { keys: [], conversation: undefined };
