import type { ErrorShape } from "./error-body.ts";

/**
 * What is sent between the events of a stream that is silent. A comment has no empty line after it: some clients take an
 * empty line for the end of an event, and parse nothing, once the engine has sent an id.
 */
export const KEEP_ALIVE: Readonly<Record<ErrorShape, string>> = {
  openai: ": waiting\n",
  responses: ": waiting\n",
  anthropic: 'event: ping\ndata: {"type": "ping"}\n\n',
};
