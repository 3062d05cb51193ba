import { describe, expect, test } from "vitest";
import { runCommand } from "./main.ts";

/** A person without any context file, at a pipe. */
async function typed(...argv: readonly string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const written = { stdout: "", stderr: "" };
  const stream = (name: "stdout" | "stderr") => ({
    write: (text: string) => {
      written[name] += text;
      return true;
    },
  });
  const env = { HOME: "/nonexistent", XDG_CONFIG_HOME: "/nonexistent" };
  const stdin = (async function* () {
    yield await Promise.resolve("");
  })();
  const code = await runCommand(argv, { env, stdin, stdout: stream("stdout"), stderr: stream("stderr") });
  return { code, ...written };
}

const ESCAPE = "\u001b";

describe("the command line", () => {
  test.each([
    { args: ["--version"], out: /^\d+\.\d+\.\d+\n$/ },
    { args: ["--help"], out: /Examples:/ },
    { args: ["ctl", "delete", "--help", "nonsense"], out: /Usage: llmgw ctl delete/ },
    { args: ["ctl", "wait", "--help"], out: /Examples:[\s\S]*profile\/[\s\S]*/ },
    { args: ["ctl", "nodes", "--version"], out: /^\d+\.\d+\.\d+\n$/ },
    { args: ["ctl", "completion", "bash"], out: /complete -F _llmgw llmgw/ },
  ])("llmgw $args", async ({ args, out }) => {
    const { code, stdout, stderr } = await typed(...args);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(out);
    expect(stdout).not.toContain(ESCAPE);
  });

  test.each([
    { args: [], says: /Usage: llmgw/ },
    { args: ["ctl"], says: /Usage: llmgw ctl/ },
    { args: ["srever"], says: /Unknown command 'srever'.*Did you mean server/ },
    { args: ["ctl", "node"], says: /Did you mean nodes/ },
    { args: ["ctl", "nodes", "--wach"], says: /Did you mean --watch/ },
    { args: ["ctl", "nodes", "--sever", "x"], says: /Did you mean --server/ },
    { args: ["ctl", "nodes", "-o", "jsn"], says: /Did you mean "json"/ },
    { args: ["ctl", "nodes", "a", "b"], says: /Too many arguments/ },
    { args: ["ctl", "delete", "profile"], says: /Missing required argument 'name'/ },
    { args: ["ctl", "apply"], says: /--file/ },
    { args: ["ctl", "diff"], says: /--file/ },
    { args: ["ctl", "diff", "-f", "/no/such/file.yaml"], says: /no file \/no\/such\/file\.yaml/ },
    { args: ["ctl", "scale", "smol", "-1"], says: /-1/ },
    { args: ["ctl", "scale", "smol", "many"], says: /whole number.*"many"/ },
    { args: ["ctl", "drain", "n1", "--deadline", "5 minutes"], says: /--deadline/ },
    { args: ["ctl", "rollout", "undo", "smol", "--to", "0"], says: /--to takes a whole number of at least 1/ },
    { args: ["ctl", "uncordn", "n1"], says: /Did you mean uncordon/ },
    { args: ["ctl", "run", "Qwen/Qwen3-8B"], says: /did you mean hf:Qwen\/Qwen3-8B/ },
    { args: ["ctl", "run", "tiny:", "--replicas", "two"], says: /--replicas takes a whole number/ },
    { args: ["ctl", "wait", "profle/x"], says: /Did you mean "profile"/ },
    { args: ["ctl", "wait", "node/x", "--for", "reddy"], says: /Did you mean "ready"/ },
    { args: ["ctl", "wait", "node/x", "--timeout", "5 seconds"], says: /did you mean 5s/ },
    { args: ["ctl", "completion", "bsh"], says: /Did you mean "bash"/ },
    { args: ["ctl", "status"], says: /No control plane is named/ },
    { args: ["ctl", "status", "--token-file", "/no/such/file"], says: /no file \/no\/such\/file/ },
    { args: ["ctl", "apply", "-f", "/no/such/file.yaml"], says: /no file \/no\/such\/file\.yaml/ },
    { args: ["up", "--listen", "localhost"], says: /--listen .*port/ },
    { args: ["up", "--model", "model.gguf"], says: /--model: .*not a model source/ },
    { args: ["server", "--check"], says: /--config/ },
    { args: ["server", "-c", "/no/such/file.yaml"], says: /no file \/no\/such\/file\.yaml/ },
    { args: ["nonsense", "--help"], says: /Unknown command 'nonsense'/ },
    { args: ["srever", "--help"], says: /Unknown command 'srever'.*Did you mean "server"/ },
    { args: ["--help", "ctl", "nodse"], says: /'nodse'.*Did you mean "nodes".*llmgw ctl --help/ },
    { args: ["ctl", "--server", "nodes", "keys", "crate", "-h"], says: /'crate'.*Did you mean "create"/ },
    { args: ["agent", "jion", "--help"], says: /'jion'.*Did you mean "join"/ },
    { args: ["agent", "join", "example:7443"], says: /must begin with http:\/\/ or https:\/\// },
    { args: ["agent", "join", "https://x:7443", "--node-id", "no name"], says: /"no name" is no name for a node/ },
    { args: ["agent", "join", "https://x:7443"], says: /No token was given/ },
    { args: ["agent", "install-service"], says: /--config/ },
    { args: ["ctl", "login", "x:7443"], says: /must begin with http:\/\/ or https:\/\// },
    { args: ["ctl", "login", "https://x:7443"], says: /No token was given/ },
    {
      args: ["ctl", "login", "https://x:7443", "--token", "x", "--ca", "/no/such/file"],
      says: /no file \/no\/such\/file/,
    },
    { args: ["ctl", "token", "create", "alice"], says: /A name goes with --role/ },
    { args: ["ctl", "token", "create", "--role", "viewer"], says: /needs a name/ },
    { args: ["ctl", "token", "create", "a", "--role", "root"], says: /one of viewer, operator, admin, router/ },
    { args: ["ctl", "token", "create", "a", "--role", "viewer", "--uses", "2"], says: /--uses is for join tokens/ },
    { args: ["ctl", "token", "create", "--ttl", "soon"], says: /--ttl must be a duration/ },
    { args: ["ctl", "token", "create", "--uses", "0"], says: /--uses takes a whole number of at least 1/ },
    { args: ["--log-level", "loud", "up"], says: /one of trace, debug/ },
  ])("llmgw $args is bad usage: exit 2 and what was meant", async ({ args, says }) => {
    const { code, stdout, stderr } = await typed(...args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(says);
    expect(stderr).not.toMatch(/at .*\.ts:\d+/);
  });

  test("an option of a group is taken before and after the verb", async () => {
    for (const args of [
      ["ctl", "--context", "lab", "nodes"],
      ["ctl", "nodes", "--context", "lab"],
    ]) {
      const { code, stderr } = await typed(...args);
      expect(code).toBe(3);
      expect(stderr).toContain('no context "lab"');
    }
  });

  test("B149 a wrong flag beside -o json is answered in JSON", async () => {
    const { code, stderr } = await typed("ctl", "nodes", "-o", "json", "--wach");
    expect(code).toBe(2);
    expect(JSON.parse(stderr)).toMatchObject({ error: { code: "bad_request" } });
  });
});
