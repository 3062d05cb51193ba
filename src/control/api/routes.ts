import type { ConnectRouter } from "@connectrpc/connect";
import { AdminService } from "../../wire/gen/llmgw/v1/admin_pb.js";
import { AgentService } from "../../wire/gen/llmgw/v1/agent_pb.js";
import { JoinService } from "../../wire/gen/llmgw/v1/join_pb.js";
import { RouterService } from "../../wire/gen/llmgw/v1/router_pb.js";
import { callerGate } from "../authorise.ts";
import { CALLER } from "../caller.ts";
import type { ControlPlane } from "../control-plane.ts";
import { recording } from "../record.ts";
import { agentSession } from "../sessions/agent-session.ts";
import { TokenDoor } from "../tokens/token-door.ts";
import { whileAdmitted } from "../while-admitted.ts";
import { apply } from "./apply.ts";
import { backup } from "./backup.ts";
import { cordon } from "./cordon.ts";
import { makeKey } from "./create-key.ts";
import { makeToken } from "./create-token.ts";
import { debug } from "./debug.ts";
import { remove } from "./delete.ts";
import { drain } from "./drain.ts";
import { explainPlace } from "./explain.ts";
import { exportAll } from "./export.ts";
import { getRequest } from "./get-request.ts";
import { getStatus } from "./get-status.ts";
import { getUsage } from "./get-usage.ts";
import { getAuthorities, join } from "./join.ts";
import { listEngines } from "./list-engines.ts";
import { listEvents } from "./list-events.ts";
import { listKeys } from "./list-keys.ts";
import { listModels } from "./list-models.ts";
import { listNodes } from "./list-nodes.ts";
import { listProfiles } from "./list-profiles.ts";
import { listReplicas } from "./list-replicas.ts";
import { listWeights } from "./list-weights.ts";
import { listTokens } from "./list-tokens.ts";
import { logs } from "./logs.ts";
import { plan } from "./plan.ts";
import { restart } from "./restart.ts";
import { endKey } from "./revoke-key.ts";
import { endToken } from "./revoke-token.ts";
import { getRollout, undoLastRollout } from "./rollout.ts";
import { scale } from "./scale.ts";

/** Everything that the control plane's port serves. */
export function publicRoutes(router: ConnectRouter, plane: ControlPlane): void {
  const requestGate = callerGate(plane);
  const guard = { gate: requestGate, clock: plane.clock };
  router.service(
    AdminService,
    {
      getStatus: () => getStatus(plane),
      listNodes: (request) => listNodes(plane, request),
      listProfiles: (request) => listProfiles(plane, request),
      listReplicas: (request) => listReplicas(plane, request),
      listModels: () => listModels(plane),
      listEvents: (request) => listEvents(plane, request),
      listEngines: (request) => listEngines(plane, request),
      listWeights: (request) => listWeights(plane, request),
      export: () => exportAll(plane),
      backup: () => backup(plane),
      debug: (request, context) => debug(plane, request, context),
      apply: (request) => apply(plane, request),
      delete: (request, context) => remove(plane, request, context),
      plan: (request) => plan(plane, request),
      scale: (request) => scale(plane, request),
      restart: (request) => restart(plane, request),
      getRollout: (request) => getRollout(plane, request),
      undoRollout: (request) => undoLastRollout(plane, request),
      cordon: (request) => cordon(plane, request),
      drain: (request) => drain(plane, request),
      explain: (request) => explainPlace(plane, request),
      logs: (request, context) => whileAdmitted(context, guard, (signal) => logs(plane, request, { signal })),
      createKey: (request, context) => makeKey(plane, request, context),
      listKeys: (request) => listKeys(plane, request),
      revokeKey: (request, context) => endKey(plane, request, context),
      getUsage: (request) => getUsage(plane, request),
      getRequest: (request) => getRequest(plane, request),
      createToken: (request, context) => makeToken(plane, request, context),
      listTokens: (request) => listTokens(plane, request),
      revokeToken: (request, context) => endToken(plane, request, context),
      getCaller: (_, { values }) => values.get(CALLER),
    },
    { requestGate, interceptors: [recording(plane)] },
  );
  router.service(JoinService, {
    getAuthorities: () => getAuthorities(plane),
    join: (request, context) => join(plane, request, context),
  });
  router.service(AgentService, {
    session: (requests, context) => agentSession(sessionOptions(plane), requests, context),
  });
  // The table holds the engines' keys: nobody gets it who is neither a router nor an admin.
  router.service(
    RouterService,
    {
      session: (requests, context) =>
        whileAdmitted(context, guard, (signal) => plane.routers.session(requests, { signal })),
    },
    { requestGate },
  );
}

/** For the router in this process. */
export function innerRoutes(router: ConnectRouter, { routers }: Pick<ControlPlane, "routers">): void {
  router.service(RouterService, { session: (requests, context) => routers.session(requests, context) });
}

const sessionOptions = ({ agents, loop, clock, logger, door }: ControlPlane) => ({
  agents,
  door,
  tokens: new TokenDoor({ loop, clock }),
  clock,
  logger,
  serverId: loop.snapshot.serverId,
  report: loop.report.bind(loop),
});
