import { describe, expect, test } from "vitest";
import { contextFilePath, pathsFor, type Place, upFolder, upPaths } from "./paths.ts";

const user: Place = { dataDir: undefined, isRoot: false, env: {}, home: "/home/ada" };
const root: Place = { ...user, isRoot: true, home: "/root" };

const written = (place: Place): readonly string[] => {
  const { serverDir, agent } = pathsFor(place);
  return [serverDir, agent.workDir, agent.weightsDir, agent.enginesDir];
};

describe("where files go", () => {
  test("root uses the system's folders", () => {
    expect(written(root)).toEqual([
      "/var/lib/llmgw",
      "/var/lib/llmgw-agent",
      "/var/lib/llmgw-weights",
      "/opt/llmgw/engines",
    ]);
  });

  test("an ordinary user needs no root", () => {
    expect(written(user)).toEqual([
      "/home/ada/.local/share/llmgw",
      "/home/ada/.local/state/llmgw/agent",
      "/home/ada/.local/share/llmgw/weights",
      "/home/ada/.local/share/llmgw/engines",
    ]);
  });

  test("XDG variables are respected, relative ones ignored", () => {
    const place = { ...user, env: { XDG_DATA_HOME: "/data", XDG_STATE_HOME: "state" } };
    expect(written(place).slice(0, 2)).toEqual(["/data/llmgw", "/home/ada/.local/state/llmgw/agent"]);
  });

  test.each([root, user])("with --data-dir everything is below it (root: $isRoot)", (place) => {
    const inside = { ...place, dataDir: "/tmp/d", env: { XDG_DATA_HOME: "/data" } };
    for (const path of written(inside)) expect(path === "/tmp/d" || path.startsWith("/tmp/d/")).toBe(true);
    for (const path of Object.values(upPaths(upFolder(inside)).agent) as string[]) expect(path).toMatch(/^\/tmp\/d\//);
  });

  test("up keeps everything in one folder", () => {
    expect(upFolder(root)).toBe("/var/lib/llmgw");
    expect(upFolder(user)).toBe("/home/ada/.local/share/llmgw");
    expect(upPaths("/d").lock).toBe("/d/up.lock");
  });

  test("contexts are a person's, not a data folder's", () => {
    expect(contextFilePath(user)).toBe("/home/ada/.config/llmgw/contexts.yaml");
    expect(contextFilePath({ ...user, env: { XDG_CONFIG_HOME: "/cfg" } })).toBe("/cfg/llmgw/contexts.yaml");
  });
});
