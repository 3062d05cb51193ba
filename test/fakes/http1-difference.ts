import type { Seen, SeenRequest } from "./http1-readers.ts";

/** How the router's own reader stands beside Node's with the same bytes. */
export type Difference =
  | { readonly kind: "none" }
  /** It refused what Node takes. `why`: its own words. */
  | { readonly kind: "stricter"; readonly why: string }
  /** It took something that Node does not, or took it for something else. */
  | { readonly kind: "fault"; readonly what: string };

const fault = (what: string): Difference => ({ kind: "fault", what });

export function difference(own: Seen, node: Seen): Difference {
  for (const [index, request] of own.requests.entries()) {
    const other = node.requests[index];
    const what = other === undefined ? "Node has no such request" : requestFault(request, other);
    if (what !== undefined) return fault(`request ${String(index)}: ${what}`);
    // What comes in the same read behind a request for another protocol Node throws away, and reads what comes later.
    if (asksForUpgrade(request)) return { kind: "none" };
  }
  const isBehind = wholes(node) > wholes(own) || node.requests.length > own.requests.length;
  if (!isBehind || endsByItself(own)) return { kind: "none" };
  return own.refused === undefined
    ? fault("Node read on, and nothing was refused")
    : { kind: "stricter", why: own.refused };
}

function endsByItself({ requests, answers }: Seen): boolean {
  // Of "close" and "keep-alive" at once Node takes the second where HTTP/1.0 is spoken.
  if (requests.at(-1)?.raw.some((text) => /close/i.test(text)) === true) return true;
  // Behind an answer nothing more can be said of the rest of the request's body.
  return answers.split("HTTP/1.1 ").at(-1)?.startsWith("417 ") === true;
}

const wholes = ({ requests }: Seen): number => requests.filter(({ isWhole }) => isWhole).length;

function requestFault(own: SeenRequest, node: SeenRequest): string | undefined {
  const { body, isWhole, ...head } = own;
  const { body: nodeBody, isWhole: isNodeWhole, ...nodeHead } = node;
  const [ownText, nodeText] = [JSON.stringify(head), JSON.stringify(nodeHead)];
  if (ownText !== nodeText) return `${ownText} is ${nodeText} to Node`;
  if (isWhole && !isNodeWhole) return "its body is not whole to Node";
  if (isWhole && body !== nodeBody) return `its body is ${JSON.stringify(body)}, to Node ${JSON.stringify(nodeBody)}`;
  const [short, long] = body.length < nodeBody.length ? [body, nodeBody] : [nodeBody, body];
  return long.startsWith(short) ? undefined : "its body begins in another way to Node";
}

function asksForUpgrade({ raw }: SeenRequest): boolean {
  const names = raw.filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase());
  return names.includes("upgrade");
}
