import { readFile, stat } from "node:fs/promises";
import { connect as http2Connect } from "node:http2";
import { join } from "node:path";
import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { ScriptedRouter } from "../fakes/scripted-router.ts";
import { agent, nodeStates, ownFolder, replicas, router, serving, site, SMOL, soon, states, WAYS } from "./callers.ts";
import { overSockets, type Site } from "./site.ts";

describe.each(Object.entries(WAYS))("the admin API %s", (_, start) => {
  test("logs come from the node, line by line, and stop when the reader leaves", async () => {
    const on = await site(start);
    const { agent: one, id } = await serving(on);
    const reader = new AbortController();
    const lines: string[] = [];
    const reading = (async () => {
      for await (const part of on.admin.logs({ replica: id, tail: 2, follow: true }, { signal: reader.signal })) {
        lines.push(...part.lines);
      }
    })().catch((error: unknown) => ConnectError.from(error).code);
    const asked = () => one.received.flatMap(({ body }) => (body.case === "logRequest" ? [body.value] : []));
    await expect.poll(() => asked().length, soon).toBe(1);
    expect(asked()[0]).toMatchObject({ replicaId: id, tail: 2, follow: true });
    const requestId = asked()[0]?.requestId ?? 0;
    const key = one.desired?.replicas[0]?.apiKey ?? "";
    one.say({ case: "logChunk", value: { requestId, lines: ["loading", `--api-key ${key}`] } });
    await expect.poll(() => lines, soon).toEqual(["loading", "--api-key [its key]"]);
    reader.abort();
    expect(await reading).toBe(Code.Canceled);
    await expect.poll(() => one.received.some(({ body }) => body.case === "logCancel"), soon).toBe(true);
  });

  test("a log ends with its node's reason, and with a lost connection", async () => {
    const on = await site(start);
    const { agent: one, id } = await serving(on);
    const read = async (): Promise<unknown> => {
      try {
        for await (const part of on.admin.logs({ replica: id, follow: true })) expect(part.lines).toEqual([]);
        return "ended";
      } catch (error) {
        return ConnectError.from(error).rawMessage;
      }
    };
    const asked = () => one.received.flatMap(({ body }) => (body.case === "logRequest" ? [body.value.requestId] : []));
    const first = read();
    await expect.poll(() => asked().length, soon).toBe(1);
    one.say({ case: "logChunk", value: { requestId: asked()[0] ?? 0, done: true, error: "the file is gone" } });
    expect(await first).toBe("the file is gone");
    const second = read();
    await expect.poll(() => asked().length, soon).toBe(2);
    await one.drop();
    expect(await second).toBe("the connection to n1 was lost");
  });

  test.each([
    {
      name: "no such profile",
      call: (on: Site) => on.admin.delete({ kind: "Profile", name: "smoll" }),
      code: Code.NotFound,
      want: /Did you mean "smol"/,
    },
    {
      name: "no such kind",
      call: (on: Site) => on.admin.delete({ kind: "Profil", name: "smol" }),
      code: Code.InvalidArgument,
      want: /Did you mean "profile"/,
    },
    {
      name: "two profiles serve one name, one of them here already",
      call: (on: Site) =>
        on.admin.apply({ manifest: "kind: Profile\nname: other\nserves: [default]\nmodel: { source: hf:a/b }\n" }),
      code: Code.InvalidArgument,
      want: /default is already served by the profile smol/,
    },
    {
      name: "one wrong document of two: every reason, nothing applied",
      call: (on: Site) =>
        on.admin.apply({
          manifest:
            "kind: Profile\nname: fine\nmodel: { source: hf:a/b }\n---\nkind: Profile\nnam: bad\nreplicas: -1\n",
          fileName: "f.yaml",
        }),
      code: Code.InvalidArgument,
      want: /f\.yaml:6: .*nam(.|\n)*f\.yaml:7: /,
    },
    {
      name: "what the engine cannot do",
      call: (on: Site) =>
        on.admin.apply({
          manifest:
            "kind: Profile\nname: g\nmodel: { source: hf:a/b }\nengine: llama.cpp\nresources: { gpus: 1, nodes: 2 }\n",
        }),
      code: Code.InvalidArgument,
      want: /one node only/,
    },
    {
      name: "a log of nobody",
      call: async (on: Site) => {
        for await (const part of on.admin.logs({ replica: "smol-x" })) return part;
        return undefined;
      },
      code: Code.NotFound,
      want: /there is no replica "smol-x"/,
    },
  ])("refused in words: $name", async ({ call, code, want }) => {
    const on = await site(start);
    await on.admin.apply({ manifest: SMOL });
    const refusal = ConnectError.from(await Promise.resolve(call(on)).catch((error: unknown) => error));
    expect(refusal.rawMessage).toMatch(want);
    expect(refusal.code).toBe(code);
    expect((await on.admin.listProfiles({})).profiles.map(({ name }) => name)).toEqual(["smol"]);
  });

  test("nobody without the token gets an answer, a change or the routes", async () => {
    const on = await site(start);
    for (const headers of [{}, { authorization: "Bearer wrong" }, { authorization: on.token }]) {
      const stranger = new ScriptedRouter(on.connect(), "stranger", headers);
      await stranger.ended;
      expect(ConnectError.from(stranger.failure).code).toBe(Code.Unauthenticated);
      expect(stranger.table).toBeUndefined();
    }
  });
});

describe("the port", () => {
  test.each(["http1", "http2"])("answers plain JSON over %s", async (protocol) => {
    const on = await site(overSockets);
    const path = "/llmgw.v1.AdminService/Apply";
    const headers = { "content-type": "application/json", authorization: `Bearer ${on.token}` };
    const body = JSON.stringify({ manifest: SMOL });
    const answer =
      protocol === "http1"
        ? await fetch(`${on.url ?? ""}${path}`, { method: "POST", headers, body }).then((response) => response.text())
        : await postHttp2(on.url ?? "", { ":path": path, ":method": "POST", ...headers }, body);
    expect(JSON.parse(answer)).toEqual({ applied: [{ kind: "Profile", name: "smol", outcome: "created" }] });
  });

  test.each([
    { name: "a form, as curl -d sends it", type: "application/x-www-form-urlencoded", method: "POST", status: 415 },
    { name: "no type", type: undefined, method: "POST", status: 415 },
    { name: "PUT", type: "application/json", method: "PUT", status: 405 },
  ])("a call that is sent wrongly is answered in words: $name", async ({ type, method, status }) => {
    const on = await site(overSockets);
    const headers = { authorization: `Bearer ${on.token}`, ...(type === undefined ? {} : { "content-type": type }) };
    const body = new TextEncoder().encode("{}");
    const response = await fetch(`${on.url ?? ""}/llmgw.v1.AdminService/ListKeys`, { method, headers, body });
    expect(response.status).toBe(status);
    const { code, message } = (await response.json()) as { readonly code: string; readonly message: string };
    expect(code).toBe("invalid_argument");
    const says = status === 415 ? /-H 'content-type: application\/json'/ : /^ListKeys takes .*POST.*, and this is PUT$/;
    expect(message).toMatch(says);
  });

  test("health, readiness and numbers; other paths say where they would be", async () => {
    const on = await site(overSockets);
    await serving(on);
    const get = async (path: string, method = "GET") => {
      const response = await fetch(`${on.url ?? ""}${path}`, { method });
      return `${String(response.status)} ${await response.text()}`;
    };
    expect(await get("/healthz")).toBe("200 ok\n");
    expect(await get("/readyz?x=1")).toBe("200 ready\n");
    expect(await get("/healthz", "HEAD")).toBe("200 ");
    expect(await get("/healthz", "POST")).toMatch(/^405/);
    expect(await get("/v1/models")).toMatch(/^404 .*router/);
    expect(await get("/constructor")).toMatch(/^404/);
    const page = await get("/metrics");
    expect(page).toContain('llmgw_nodes{state="ready"} 1');
    expect(page).toContain('llmgw_replicas{profile="smol",state="ready"} 1');
    expect(page).toContain('llmgw_gpus{state="free"} 0');
    expect(page).toContain("# TYPE llmgw_rollouts_total counter");
    expect(page).toContain('llmgw_rollouts_total{outcome="ready"} 1');
    expect(page).toContain('llmgw_rollouts_total{outcome="failed"} 0');
  });
});

describe("started again on the same folder", () => {
  test("token, profiles, replicas and revisions are the same, nothing is asked of the node anew", async () => {
    const dataDir = await ownFolder("again");
    const before = await overSockets({ dataDir });
    const { agent: one, id } = await serving(before);
    const desired = one.desired;
    await before.stop();
    expect((await stat(join(dataDir, "admin-token"))).mode & 0o777).toBe(0o600);
    expect((await stat(join(dataDir, "server.db"))).mode & 0o777).toBe(0o600);

    const after = await site(overSockets, { dataDir });
    expect(after.token).toBe(before.token);
    expect(after.token).toBe((await readFile(join(dataDir, "admin-token"), "utf8")).trim());
    expect(await states(after)).toEqual(["ready"]);
    const watching = router(after);
    await expect.poll(() => watching.routesOf("smol"), soon).toEqual([id]);
    const again = agent(after, { node: "n1" });
    await expect.poll(() => again.desired, soon).toEqual(desired);
    expect(await nodeStates(after)).toEqual({ n1: "ready" });
  });

  test("a second control plane on the folder is refused with the first one's pid", async () => {
    const dataDir = await ownFolder("again");
    await site(overSockets, { dataDir });
    await expect(overSockets({ dataDir })).rejects.toThrow(`as process ${String(process.pid)}: stop it first`);
  });

  test("a drain waits for routers that have not come back yet", async () => {
    const dataDir = await ownFolder("again");
    const before = await overSockets({ dataDir });
    const { id } = await serving(before);
    await before.stop();
    const after = await site(overSockets, { dataDir });
    const again = agent(after, { node: "n1" });
    await after.admin.delete({ kind: "Profile", name: "smol" });
    const late = router(after);
    await expect.poll(() => late.table, soon).toBeDefined();
    // It speaks of the table of the server before, and has requests in flight there.
    late.report({ [id]: 2 }, 7);
    await expect.poll(async () => (await replicas(after))[0]?.inFlight, soon).toBe(2);
    expect(await states(after)).toEqual(["draining"]);
    await expect.poll(() => again.wants(id), soon).toBe(true);
  });
});

function postHttp2(url: string, headers: Readonly<Record<string, string>>, body: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const session = http2Connect(url);
    session.on("error", reject);
    const stream = session.request(headers);
    let text = "";
    stream.setEncoding("utf8");
    stream.on("data", (part: string) => (text += part));
    stream.on("end", () => {
      session.close();
      resolve(text);
    });
    stream.end(body);
  });
}
