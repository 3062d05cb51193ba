import type { z } from "zod";
import type { Loose } from "./check.ts";
import { collide, complete } from "./collide.ts";
import { writeDuration } from "./duration.ts";
import { writeListen } from "./listen.ts";
import type { Violation } from "./reader.ts";
import type { serverSchema } from "./server-schema.ts";

type Read = Loose<z.output<typeof serverSchema>>;

/** What must hold between the keys of server.yaml. */
export const serverRules = (config: Read): readonly Violation[] => [
  ...portsAreApart(config),
  ...lostComesLater(config),
  ...publicUrlFits(config),
];

function portsAreApart({ listen, router }: Read): readonly Violation[] {
  const [one, two] = [complete(listen), complete(router?.listen)];
  if (one === undefined || two === undefined || !collide(one, two)) return [];
  const where = writeListen(one);
  return [
    {
      path: ["router", "listen"],
      message: `router.listen takes the port of listen (${where})`,
      hint: "give them two ports",
    },
  ];
}

function lostComesLater({ nodes }: Read): readonly Violation[] {
  const { unreachable_after: unreachable, lost_after: lost } = nodes ?? {};
  if (unreachable === undefined || lost === undefined || unreachable < lost) return [];
  const message = `nodes.lost_after (${writeDuration(lost)}) must be longer than nodes.unreachable_after (${writeDuration(unreachable)})`;
  return [{ path: ["nodes", "lost_after"], message, hint: "a node is unreachable for a while before it is lost" }];
}

function publicUrlFits({ tls, public_url: url }: Read): readonly Violation[] {
  if (tls === undefined || url?.startsWith("http://") !== true) return [];
  const message = `public_url is ${url}, but with tls the port speaks https`;
  return [{ path: ["public_url"], message, hint: `write ${url.replace("http://", "https://")}` }];
}
