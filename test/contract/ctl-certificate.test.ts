import { readFile, stat } from "node:fs/promises";
import { join, relative } from "node:path";
import { expect, test } from "vitest";
import { issueClient } from "../../src/pki/commands.ts";
import { typed } from "../fakes/typed.ts";
import { certifiedSite } from "./certified-site.ts";

test("login with a certificate: its files are remembered, no token is, and its role holds", async () => {
  const { on, dir, making } = await certifiedSite();
  await issueClient({ id: "vera", role: "viewer" }, making);
  const env = { XDG_CONFIG_HOME: join(dir, "xdg"), HOME: dir, NO_COLOR: "1" };
  const ctl = (...args: readonly string[]) => typed(["ctl", ...args], { env });
  const ca = join(dir, "ca.pem");
  // As a person would type them, from where that person is.
  const [cert, key] = ["vera.pem", "vera-key.pem"].map((name) => relative(process.cwd(), join(dir, name))) as [
    string,
    string,
  ];
  const url = on.url ?? "";
  const loggedIn = await ctl("login", url, "--context", "lab", "--ca", ca, "--cert", cert, "--key", key);
  expect(loggedIn.stdout).toBe(`Logged in to ${url} as the certificate of vera (viewer).\n`);
  const file = join(dir, "xdg", "llmgw", "contexts.yaml");
  expect(await readFile(file, "utf8")).toBe(
    [
      "current: lab",
      "contexts:",
      "  lab:",
      `    server: ${url}`,
      `    ca: ${ca}`,
      `    cert: ${join(dir, "vera.pem")}`,
      `    key: ${join(dir, "vera-key.pem")}`,
      "",
    ].join("\n"),
  );
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(await ctl("nodes")).toMatchObject({ code: 0, stdout: "" });
  const refused = await ctl("keys", "create", "app");
  expect(refused.code).toBe(5);
  expect(refused.stderr).toMatch(/the certificate of vera \(viewer\) may not call/);
});

test.each([
  { name: "one without its key", args: ["--cert", "a.pem"], says: /--cert and --key go together/ },
  {
    name: "one with a token",
    args: ["--cert", "a.pem", "--key", "b.pem", "--token", "t"],
    says: /A token or a certificate: leave out --token or --cert and --key/,
  },
  {
    name: "one over http",
    args: ["--cert", "a.pem", "--key", "b.pem"],
    says: /a certificate is shown over https alone/,
  },
])("login with a certificate is refused: $name", async ({ args, says }) => {
  const done = await typed(["ctl", "login", "http://127.0.0.1:1", ...args], { env: { HOME: "/nonexistent" } });
  expect(done.code).toBe(2);
  expect(done.stderr).toMatch(says);
});
