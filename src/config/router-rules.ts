import type { z } from "zod";
import type { Loose } from "./check.ts";
import { collide, complete } from "./collide.ts";
import { writeListen } from "./listen.ts";
import { repeated } from "./overlap.ts";
import type { Violation } from "./reader.ts";
import type { routerSchema } from "./router-schema.ts";

type Read = Loose<z.output<typeof routerSchema>>;

/** What must hold between the keys of router.yaml. */
export const routerRules = (config: Read): readonly Violation[] => [
  ...certificatesNeedHttps(config),
  ...serversDiffer(config),
  ...portsAreApart(config),
];

function certificatesNeedHttps({ servers = [], server_tls: tls }: Read): readonly Violation[] {
  if (tls === undefined) return [];
  return servers.flatMap((server, index) =>
    server?.startsWith("http://") === true
      ? [
          {
            path: ["servers", index],
            message: `servers has ${server}, but server_tls is set: over http:// the certificates would not be used and everything would travel in the clear`,
            hint: `write ${server.replace("http://", "https://")}, or leave server_tls out`,
          },
        ]
      : [],
  );
}

const serversDiffer = ({ servers = [] }: Read): readonly Violation[] =>
  repeated(servers).map(({ index, value }) => ({
    path: ["servers", index],
    message: `servers names ${value} twice`,
  }));

function portsAreApart({ listen, metrics_listen: metrics }: Read): readonly Violation[] {
  const [one, two] = [complete(listen), complete(metrics)];
  if (one === undefined || two === undefined || !collide(one, two)) return [];
  const message = `metrics_listen takes the port of listen (${writeListen(one)})`;
  return [{ path: ["metrics_listen"], message, hint: "give them two ports" }];
}
