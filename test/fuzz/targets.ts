import { adminTarget } from "./admin.ts";
import { agentStreamTarget } from "./agent-stream.ts";
import { configTarget } from "./texts.ts";
import { headerTarget } from "./headers.ts";
import { http1Target } from "./http1.ts";
import { routerTarget } from "./router.ts";
import type { Target } from "./target.ts";
import { toolTarget } from "./tools.ts";

/** Everything that takes input from outside, the doors first. */
export const TARGETS: readonly Target[] = [
  agentStreamTarget,
  adminTarget,
  routerTarget,
  http1Target,
  configTarget,
  headerTarget,
  toolTarget,
];
