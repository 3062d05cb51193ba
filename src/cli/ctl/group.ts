import type { CommandSpec } from "../command.ts";
import { CONNECTION_OPTIONS } from "../connection.ts";
import { apply } from "./apply.ts";
import { bench } from "./bench/bench.ts";
import { cert } from "./cert/group.ts";
import { chat } from "./chat.ts";
import { completion } from "./completion.ts";
import { cordon, uncordon } from "./cordon.ts";
import { debug } from "./debug.ts";
import { remove } from "./delete.ts";
import { diff } from "./diff.ts";
import { drain } from "./drain.ts";
import { engines } from "./engines.ts";
import { events } from "./events.ts";
import { exportAll } from "./export.ts";
import { explain } from "./explain.ts";
import { keys } from "./keys/group.ts";
import { login } from "./login.ts";
import { logs } from "./logs.ts";
import { models } from "./models.ts";
import { nodes } from "./nodes.ts";
import { profiles } from "./profiles.ts";
import { ps, replicas } from "./replicas.ts";
import { restart } from "./restart.ts";
import { rollout } from "./rollout.ts";
import { run } from "./run.ts";
import { scale } from "./scale.ts";
import { status } from "./status.ts";
import { backup } from "./store/backup.ts";
import { restore } from "./store/restore.ts";
import { token } from "./token/group.ts";
import { usage } from "./usage.ts";
import { version } from "./version.ts";
import { wait } from "./wait.ts";
import { weights } from "./weights.ts";

export const ctl: CommandSpec = {
  name: "ctl",
  summary: "ask a control plane and give it orders",
  details: [
    'What was asked for goes to stdout, everything else to stderr. With -o json stdout is exactly one document, in the form of the admin API; a failure is one object on stderr: {"error":{"code":…,"message":…}}.',
    "Exit codes: 0 done, 1 failed, 2 bad usage or bad manifest, 3 not found, 4 timed out, 5 refused.",
    "Which control plane: --server, --token and --ca; else LLMGW_SERVER, LLMGW_TOKEN and LLMGW_CA; else the context file in the XDG configuration folder, which `llmgw up` and `llmgw ctl login` write.",
  ].join("\n\n"),
  options: CONNECTION_OPTIONS,
  examples: [
    { line: "llmgw ctl status", doc: "is all well?" },
    { line: "llmgw ctl run hf:Qwen/Qwen3-8B-GGUF/Qwen3-8B-Q4_K_M.gguf", doc: "serve a model" },
    { line: "llmgw ctl --context lab nodes", doc: "another control plane" },
  ],
  commands: [
    status,
    nodes,
    cordon,
    uncordon,
    drain,
    apply,
    diff,
    remove,
    exportAll,
    run,
    scale,
    restart,
    rollout,
    profiles,
    replicas,
    models,
    ps,
    engines,
    weights,
    explain,
    logs,
    events,
    chat,
    bench,
    wait,
    keys,
    usage,
    cert,
    token,
    login,
    backup,
    restore,
    debug,
    version,
    completion,
  ],
};
