import { describe, expect, test } from "vitest";
import { Flags } from "./command.ts";
import { resolveConnection } from "./connection.ts";

const contexts = {
  current: "up",
  contexts: {
    up: { server: "http://127.0.0.1:7443", token: "of-up" },
    lab: { server: "https://lab:7443", token: "of-lab", ca: "/lab.pem" },
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
