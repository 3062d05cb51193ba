import { describe, expect, test } from "vitest";
import { agentUnit } from "./service-unit.ts";

const plain = { program: "/usr/bin/llmgw", config: "/etc/llmgw/agent.yaml", dataDir: undefined };
const lines = (text: string): readonly string[] => text.split("\n");

test("the unit, as it is", () => {
  expect(agentUnit(plain)).toMatchSnapshot();
});

describe("the unit", () => {
  test.each([
    { why: "B27 and B29: a restart or a stop ends the agent alone", line: "KillMode=process" },
    { why: "engines get control groups", line: "Delegate=yes" },
    { why: "the agent's own is a leaf", line: "DelegateSubgroup=agent" },
    { why: "one engine out of memory is one engine", line: "OOMPolicy=continue" },
    { why: "RDMA pins memory", line: "LimitMEMLOCK=infinity" },
    { why: "sockets of engines stay", line: "RuntimeDirectoryPreserve=yes" },
    { why: "renewed certificates are written into /etc, which is read-only else", line: "ReadWritePaths=-/etc/llmgw" },
    { why: "it is told when the agent is ready", line: "Type=notify" },
    { why: "a control plane that is away never stops the restarts", line: "StartLimitIntervalSec=0" },
  ])("$why", ({ line }) => {
    expect(lines(agentUnit(plain))).toContain(line);
  });

  test.each([
    "PrivateDevices",
    "PrivateTmp",
    "ProtectHome",
    "ProtectControlGroups",
    "RestrictAddressFamilies",
    "MemoryDenyWriteExecute",
    "DevicePolicy",
    "RestrictRealtime",
  ])("has no %s, which would break GPUs, engines or their control groups", (key) => {
    expect(agentUnit(plain)).not.toContain(`${key}=`);
  });

  test("words with what a unit file takes for something else", () => {
    const unit = agentUnit({ program: "/opt/a b/llmgw", config: "/etc/100%/$x.yaml", dataDir: "/data" });
    expect(lines(unit)).toContain(
      'ExecStart="/opt/a b/llmgw" agent -c /etc/100%%/$$x.yaml --data-dir /data --log-format json',
    );
    expect(lines(unit)).toContain("ReadWritePaths=-/etc/llmgw -/etc/100%%");
  });
});
