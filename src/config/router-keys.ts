import { z } from "zod";
import { ROUTING_POLICY_NAMES } from "../routing/policies.ts";
import { duration, flag, integer, type Leaf, oneOf, path, setting, size, text } from "./fields.ts";
import { isLoopback } from "./ip.ts";
import type { ListenAddress } from "./listen.ts";

/** As browsers send it: in lower case, without a path. */
const origin = (): Leaf<string> =>
  text({
    type: "origin",
    phrase: 'an origin such as https://app.example, or "*"',
    pattern: /^(?:\*|https?:\/\/[^\s/?#@A-Z]+|(?!https?:)[a-z][a-z\d+.-]*:\/\/[^\s/?#@A-Z]*)$/,
  });

/** What is set of a router wherever it runs: inside a control plane below `router`, or alone at the top of its file. */
export const routerKeys = {
  tls: setting(
    z
      .strictObject({
        cert: setting(path(), "The router's certificate, with the chain up to its authority."),
        key: setting(path(), "Its private key, readable by nobody else."),
      })
      .optional(),
    "Certificate shown to clients.",
    "plain HTTP",
  ),
  auth: setting(
    oneOf(["keys", "none"]).optional(),
    "Whether clients must show a key.",
    "none on a loopback address, keys on any other",
  ),
  cors: setting(
    z.array(origin()).prefault([]),
    'Origins whose web pages may ask, such as https://app.example; "*" for all. Programs need none of it.',
  ),
  policy: setting(
    oneOf(ROUTING_POLICY_NAMES).prefault("prefix-affinity"),
    "Which replica gets a request; docs/reference/policies.md says what each does.",
  ),
  queue: setting(
    z
      .strictObject({
        length: setting(
          integer({ min: 0, max: 1_000_000 }).prefault(1_024),
          "Requests for one profile that may wait while all its replicas are full; the next one is refused with 503.",
        ),
        wait: setting(duration({ min: 1 }).prefault("2m"), "The longest that a request waits there."),
        cold_wait: setting(
          duration({ min: 1 }).prefault("5m"),
          "The longest that a request is held while the first replica of a profile starts that was scaled to 0.",
        ),
        headroom: setting(
          integer({ min: 0, max: 1_024 }).prefault(1),
          "Requests that a replica is given beyond its engine's slots, so that it is never idle between two.",
        ),
      })
      .prefault({}),
    "Waiting for a replica.",
  ),
  max_body: setting(
    size().prefault("64MiB"),
    "The largest body of a request, after its Content-Encoding is undone; a larger one is refused with 413.",
  ),
  rescue: setting(
    oneOf(["on", "off"]).prefault("on"),
    "Whether streams of text go on at another replica when the one that sent them dies.",
  ),
  count_streams: setting(
    flag().prefault(true),
    "Whether engines are asked for the counts of every stream. A client that did not ask for them does not see them.",
  ),
};

export type RouterAuthentication = "keys" | "none";

/** Without keys everyone who reaches the port may use the models: only this machine's own users unless it is written. */
export const defaultAuth = (listen: ListenAddress | undefined): RouterAuthentication =>
  listen !== undefined && isLoopback(listen.host) ? "none" : "keys";
