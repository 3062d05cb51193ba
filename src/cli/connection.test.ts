import { describe, expect, test } from "vitest";
import { Flags } from "./command.ts";
import { resolveConnection } from "./connection.ts";

const contexts = {
  current: "up",
  contexts: {
    up: { server: "http://127.0.0.1:7443", token: "of-up" },
    lab: { server: "https://lab:7443", token: "of-lab", ca: "/lab.pem" },
    mine: { server: "https://mine:7443", cert: "/me.pem", key: "/me-key.pem" },
  },
};

function resolve(flags: Record<string, string>, env: Record<string, string> = {}, file: unknown = contexts) {
  return resolveConnection({
    flags: new Flags(new Map(Object.entries(flags))),
    env,
    contexts: file as typeof contexts,
    contextPath: "/c.yaml",
    tokenFromFile: undefined,
  });
}

describe("which control plane ctl talks to", () => {
  test.each([
    { name: "the current context", flags: {}, env: {}, server: "http://127.0.0.1:7443", token: "of-up" },
    { name: "a context by name", flags: { context: "lab" }, env: {}, server: "https://lab:7443", token: "of-lab" },
    {
      name: "variables over the current context",
      flags: {},
      env: { LLMGW_SERVER: "http://v:1", LLMGW_TOKEN: "of-v" },
      server: "http://v:1",
      token: "of-v",
    },
    {
      name: "flags over variables",
      flags: { server: "http://f:1", token: "of-f" },
      env: { LLMGW_SERVER: "http://v:1", LLMGW_TOKEN: "of-v" },
      server: "http://f:1",
      token: "of-f",
    },
    {
      name: "a context that was asked for over variables",
      flags: { context: "lab" },
      env: { LLMGW_SERVER: "http://v:1" },
      server: "https://lab:7443",
      token: "of-lab",
    },
    {
      name: "an empty variable is none",
      flags: {},
      env: { LLMGW_SERVER: "" },
      server: "http://127.0.0.1:7443",
      token: "of-up",
    },
  ])("$name", ({ flags, env, server, token }) => {
    expect(resolve(flags, env)).toMatchObject({ server, token });
  });

  test("another server never gets the context's token", () => {
    expect(resolve({ server: "http://elsewhere:7443" }).token).toBeUndefined();
    expect(resolve({}, { LLMGW_SERVER: "http://elsewhere:7443" }).token).toBeUndefined();
  });

  test("the context's own server, named again, does", () => {
    expect(resolve({ server: "http://127.0.0.1:7443/" }).token).toBe("of-up");
  });

  test.each([
    { name: "nothing named", flags: {}, file: { contexts: {} }, says: /No control plane is named/ },
    { name: "an unknown context", flags: { context: "lap" }, file: contexts, says: /Did you mean "lab"/ },
    { name: "no address", flags: { server: "lab:7443" }, file: contexts, says: /write http/ },
  ])("$name is explained", ({ flags, file, says }) => {
    expect(() => resolve(flags as Record<string, string>, {}, file)).toThrow(says);
  });
});

describe("what proves who is asking", () => {
  const mine = { cert: "/me.pem", key: "/me-key.pem" };
  const flagged = { cert: "/f.pem", key: "/f-key.pem" };
  test.each([
    { name: "the context's certificate", flags: { context: "mine" }, env: {}, token: undefined, certificate: mine },
    { name: "a variable's token over it", flags: { context: "mine" }, env: { LLMGW_TOKEN: "t" }, token: "t" },
    { name: "a flag's token over it", flags: { context: "mine", token: "t" }, env: {}, token: "t" },
    {
      name: "a flag's certificate over the context's token",
      flags: { context: "lab", ...flagged },
      env: {},
      token: undefined,
      certificate: flagged,
    },
    {
      name: "a flag's certificate over a variable's token",
      flags: { context: "lab", ...flagged },
      env: { LLMGW_TOKEN: "t" },
      token: undefined,
      certificate: flagged,
    },
    {
      name: "never a context's certificate at another server",
      flags: { context: "mine", server: "https://elsewhere:7443" },
      env: {},
      token: undefined,
    },
  ])("$name", ({ flags, env, token, certificate }) => {
    const resolved = resolve(flags, env);
    expect([resolved.token, resolved.certificate]).toEqual([token, certificate]);
  });

  test("a certificate without its key is none", () => {
    expect(() => resolve({ cert: "/f.pem" })).toThrow(/go together/);
  });
});
