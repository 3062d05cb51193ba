import { dirname } from "node:path";

/** What of a unit depends on the node. */
export interface AgentService {
  /** The whole path of the program. */
  readonly program: string;
  /** The whole path of the agent's configuration. */
  readonly config: string;
  readonly dataDir: string | undefined;
}

/** Its first line: a file that begins otherwise is somebody else's. */
export const UNIT_MARK =
  "# Written by `llmgw agent install-service`; it may be written again. Changes belong into a drop-in:";

/**
 * A systemd unit for the agent. Everything in it that restricts is inherited by the engines, so it keeps devices, home folders,
 * control groups, netlink and writable code (Node, PyTorch) as they are.
 */
export function agentUnit({ program, config, dataDir }: AgentService): string {
  const words = [program, "agent", "-c", config, ...(dataDir === undefined ? [] : ["--data-dir", dataDir])];
  return `${UNIT_MARK}
#   systemctl edit llmgw-agent
[Unit]
Description=llmgw agent: the engines of this node
Wants=network-online.target
After=network-online.target nvidia-persistenced.service
StartLimitIntervalSec=0

[Service]
Type=notify
NotifyAccess=main
ExecStart=${words.map(unitWord).join(" ")} --log-format json
ExecReload=/bin/kill -HUP $MAINPID
Restart=always
RestartSec=2
TimeoutStartSec=5min
TimeoutStopSec=30

# Engines outlive the agent: a stop or a restart ends the agent alone, and the next one takes them over.
KillMode=process
# Each engine gets a control group of its own below the unit's; one that runs out of memory takes nobody along.
Delegate=yes
DelegateSubgroup=agent
OOMPolicy=continue
RuntimeDirectory=llmgw
RuntimeDirectoryPreserve=yes
StateDirectory=llmgw-agent
StateDirectoryMode=0750
UMask=0027

# What engines need: pinned memory for RDMA, many files and threads.
LimitMEMLOCK=infinity
LimitNOFILE=1048576
TasksMax=infinity

NoNewPrivileges=yes
ProtectSystem=full
# Renewed certificates are written beside the configuration.
ReadWritePaths=-/etc/llmgw${dirname(config) === "/etc/llmgw" ? "" : ` ${unitWord(`-${dirname(config)}`)}`}
ProtectClock=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
RestrictSUIDSGID=yes

[Install]
WantedBy=multi-user.target
`;
}

/** As a unit file wants a word of a command line: % and $ mean something there. */
function unitWord(word: string): string {
  const text = word.replaceAll("\\", "\\\\").replaceAll("%", "%%").replaceAll("$", "$$$$");
  return /[\s"';]/.test(text) ? `"${text.replaceAll('"', '\\"')}"` : text;
}
