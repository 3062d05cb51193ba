import type { z } from "zod";
import type { agentSchema } from "./agent-schema.ts";
import type { Loose } from "./check.ts";
import { writeDuration } from "./duration.ts";
import { repeated } from "./overlap.ts";
import type { Violation } from "./reader.ts";

type Read = Loose<z.output<typeof agentSchema>>;

/** What must hold between the keys of agent.yaml. */
export function agentRules(config: Read): readonly Violation[] {
  return [
    ...certificatesNeedHttps(config),
    ...serversDiffer(config),
    ...waitsGrow(config),
    ...fabricsAreApart(config),
    ...portsAreApart(config),
  ];
}

function servers({ server }: Read): readonly (string | undefined)[] {
  if (server === undefined) return [];
  return typeof server === "string" ? [server] : server;
}

const at = (config: Read, index: number): readonly (string | number)[] =>
  typeof config.server === "string" ? ["server"] : ["server", index];

function certificatesNeedHttps(config: Read): readonly Violation[] {
  if (config.tls === undefined) return [];
  return servers(config).flatMap((server, index) =>
    server?.startsWith("http://") === true
      ? [
          {
            path: at(config, index),
            message: `server is ${server}, but tls is set: over http:// the certificates would not be used and everything would travel in the clear`,
            hint: `write ${server.replace("http://", "https://")}, or leave tls out`,
          },
        ]
      : [],
  );
}

const serversDiffer = (config: Read): readonly Violation[] =>
  repeated(servers(config)).map(({ index, value }) => ({
    path: at(config, index),
    message: `server names ${value} twice`,
  }));

function waitsGrow({ reconnect_base: base, reconnect_max: max }: Read): readonly Violation[] {
  if (base === undefined || max === undefined || base <= max) return [];
  const message = `reconnect_base (${writeDuration(base)}) is longer than reconnect_max (${writeDuration(max)})`;
  return [{ path: ["reconnect_base"], message, hint: "the first wait is the shortest" }];
}

/** One adapter is plugged into one fabric: a mistake here makes a replica that hangs at its first exchange. */
function fabricsAreApart({ fabrics = [] }: Read): readonly Violation[] {
  const names = repeated(fabrics.map((fabric) => fabric?.name)).map(({ index, value }) => ({
    path: ["fabrics", index, "name"],
    message: `fabrics holds the name ${value} twice`,
    hint: "list all adapters of a fabric under one name",
  }));
  const adapters = fabrics.flatMap((fabric, index) =>
    (fabric?.hcas ?? []).map((hca, place) => ({ hca, path: ["fabrics", index, "hcas", place] })),
  );
  const shared = repeated(adapters.map(({ hca }) => hca)).map(({ index, value }) => ({
    path: adapters[index]?.path ?? ["fabrics"],
    message: `the adapter ${value} is listed twice in fabrics`,
    hint: "an adapter is plugged into one fabric",
  }));
  return [...names, ...shared];
}

function portsAreApart(config: Read): readonly Violation[] {
  const { first, last } = config.engine_ports ?? {};
  if (first === undefined || last === undefined) return [];
  return (["metrics_listen", "peer_listen"] as const).flatMap((key) => {
    const port = config[key]?.port;
    if (port === undefined || port < first || port > last) return [];
    const message = `${key} has the port ${String(port)}, which is among engine_ports (${String(first)}-${String(last)})`;
    return [{ path: [key], message, hint: "an engine could be given that port" }];
  });
}
