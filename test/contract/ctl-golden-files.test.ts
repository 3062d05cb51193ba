import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { VERSION } from "../../src/core/version.ts";
import { fixedCluster } from "../fakes/fixed-cluster.ts";
import { scriptedAdmin } from "../fakes/scripted-admin.ts";
import { typed } from "../fakes/typed.ts";
import { ownFolder, site, SMOL, stops } from "./callers.ts";
import { overSockets } from "./site.ts";

// What the verbs print that write files, or that talk to a model. Beside ctl-golden.test.ts, whose verbs only ask.

type Ctl = (line: string) => Promise<string>;

/** With everything that differs from run to run under a name. */
function steady(text: string, names: Readonly<Record<string, string>>): string {
  const named = Object.entries(names).reduce((before, [what, name]) => before.replaceAll(what, name), text);
  return named
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "TIME")
    .replaceAll(/\d{4}-\d\d-\d\d/g, "DAY")
    .replaceAll(/in \d+d\b/g, "in DAYS")
    .replaceAll(/\b[0-9A-F]{32}\b/g, "SERIAL")
    .replaceAll(/\b[0-9a-f]{64}\b/g, "SHA256")
    .replaceAll(/\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, "UUID")
    .replaceAll(/"revision": \d+/g, '"revision": N')
    .replaceAll(/[\d.]+ (B|KiB|MiB)\b/g, "SIZE")
    .replaceAll(/"bytes": \d+/g, '"bytes": SIZE');
}

const ctlOf =
  (env: Readonly<Record<string, string>>, names: Readonly<Record<string, string>>): Ctl =>
  async (line) => {
    const { code, stdout, stderr } = await typed(["ctl", ...line.split(" ")], { env });
    const shown = `exit ${String(code)}\n${stdout}${stderr === "" ? "" : `--- stderr\n${stderr}`}`;
    return steady(shown, { ...names, [VERSION]: "VERSION" });
  };

/** What each line prints, under the line. */
async function printed(ctl: Ctl, lines: readonly string[], folder: string): Promise<string> {
  const pages: string[] = [];
  for (const line of lines) pages.push(`$ llmgw ctl ${line}\n${await ctl(line.replaceAll("FOLDER", folder))}`);
  return pages.join("\n");
}

test("cert", async () => {
  const folder = await ownFolder("golden-cert");
  const lines = [
    ...["cert init", "cert issue-server cp.example 10.0.0.1", "cert issue-server b.example -o json"],
    ...["cert issue-client gpu-a-01", "cert issue-client gpu-a-02 -o json", "cert issue-client alice --role operator"],
    ...["cert list", "cert list -o wide", "cert list -o name", "cert list -o json", "cert list -o yaml"],
    ...["cert revoke gpu-a-01", "cert revoke gpu-a-02 -o json", "cert list", "cert issue-client gpu-a-02"],
  ].map((line) => `${line} --dir FOLDER/c`);
  const shown = await printed(
    ctlOf({}, { [folder]: "FOLDER" }),
    [...lines, "cert init --dir FOLDER/d -o json"],
    folder,
  );
  expect(shown).toMatchSnapshot();
  expect(shown).not.toContain("PRIVATE KEY");
});

test("login, backup, restore, debug", async () => {
  const folder = await ownFolder("golden-files");
  const on = await site(overSockets);
  await on.admin.apply({ manifest: SMOL });
  const url = on.url ?? "";
  const { host } = new URL(url);
  const names = { [folder]: "FOLDER", [url]: "http://10.0.0.1:7443", [host.replace(":", "-")]: "10.0.0.1" };
  const ctl = ctlOf({ XDG_CONFIG_HOME: join(folder, "xdg"), HOME: folder }, names);
  const login = `$ llmgw ctl login URL --token TOKEN\n${await ctl(`login ${url} --token ${on.token}`)}`;
  expect(login).toMatchSnapshot();
  const lines = [
    ...["backup FOLDER/a.db", "backup FOLDER/b.db -o json", "backup FOLDER/a.db"],
    ...["restore FOLDER/a.db --data-dir FOLDER/new", "restore FOLDER/b.db --data-dir FOLDER/other -o json"],
    ...["debug FOLDER/a.tar.gz", "debug FOLDER/b.tar.gz -o json"],
  ];
  const shown = await printed(ctl, lines, folder);
  // Events come with what happens meanwhile.
  expect(shown.replaceAll(/\d+ events/g, "N events").replaceAll(/"events": \d+/g, '"events": N')).toMatchSnapshot();
  expect(login + shown).not.toContain(on.token);
  expect(await readFile(join(folder, "xdg", "llmgw", "contexts.yaml"), "utf8")).toContain(on.token);
});

const USAGE = { prompt_tokens: 20, completion_tokens: 3 };
const WHOLE = { choices: [{ message: { role: "assistant", content: "It is so." } }], usage: USAGE };

function streamed(response: ServerResponse): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  const say = (chunk: object): void => void response.write(`data: ${JSON.stringify(chunk)}\n\n`);
  for (const content of ["It", " is", " so."]) say({ choices: [{ delta: { content } }] });
  say({ choices: [], usage: USAGE });
  response.end("data: [DONE]\n\n");
}

test("chat and bench", async () => {
  const router = createServer((request, response) => {
    let asked = "";
    request.setEncoding("utf8").on("data", (part: string) => (asked += part));
    request.on("end", () => {
      if ((JSON.parse(asked) as { readonly stream?: boolean }).stream === true) streamed(response);
      else response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(WHOLE));
    });
  }).listen(0, "127.0.0.1");
  await once(router, "listening");
  stops.push(() => new Promise((resolve) => router.close(resolve)));
  const admin = await scriptedAdmin(fixedCluster);
  stops.push(() => admin.stop());
  const url = `http://127.0.0.1:${String((router.address() as AddressInfo).port)}`;
  const ctl = ctlOf({ LLMGW_SERVER: admin.url, LLMGW_TOKEN: "t" }, { [url]: "URL" });
  const shown = await printed(
    ctl,
    [
      "chat qwen3 Hello",
      "chat qwen3 Hello -o json",
      "bench qwen3 --requests 4",
      "bench qwen3 --requests 4 -o json",
    ].map((line) => `${line} --router ${url}`),
    "",
  );
  const pages = shown.replaceAll(url, "URL").split("\n$ ");
  const [talk, measured] = [pages.slice(0, 2), pages.slice(2)];
  expect(talk.join("\n$ ")).toMatchSnapshot();
  // Every measure is another time.
  expect(
    measured
      .join("\n$ ")
      .replaceAll(/\d+(\.\d+)?( ?(ms|s|µs))?/g, "N")
      .replaceAll(/ {2,}/g, "  "),
  ).toMatchSnapshot();
});
