import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Transport } from "@connectrpc/connect";
import { createConnectTransport, Http2SessionManager } from "@connectrpc/connect-node";
import { millis } from "../../src/core/ids.ts";
import { initAuthority, issueServer, type Making } from "../../src/pki/commands.ts";
import { ownFolder, site, stops } from "./callers.ts";
import { overSockets, type Site } from "./site.ts";

/** A control plane with an authority beside it. */
export async function certifiedSite(): Promise<{ readonly on: Site; readonly dir: string; readonly making: Making }> {
  const dir = await ownFolder("pki");
  const making = { dir, days: 30, force: false, now: millis(Date.now()) };
  await initAuthority(making);
  await issueServer(["127.0.0.1"], making);
  const [ca, cert, key] = ["ca.pem", "127.0.0.1.pem", "127.0.0.1-key.pem"].map((name) => join(dir, name));
  const authority = await readFile(ca ?? "", "utf8");
  const yaml = [
    `tls: { ca: "${String(ca)}", cert: "${String(cert)}", key: "${String(key)}" }`,
    "nodes: { unreachable_after: 1s }",
  ];
  const on = await site(overSockets, { yaml, ca: authority });
  return { on, dir, making };
}

/** A connection that shows the certificate of that name. */
export async function certified(on: Site, dir: string, name: string): Promise<Transport> {
  const [ca = "", cert = "", key = ""] = await Promise.all(
    ["ca.pem", `${name}.pem`, `${name}-key.pem`].map((file) => readFile(join(dir, file), "utf8")),
  );
  const sessionManager = new Http2SessionManager(on.url ?? "", undefined, { ca, cert, key });
  stops.push(() => {
    sessionManager.abort();
    return Promise.resolve();
  });
  return createConnectTransport({ httpVersion: "2", baseUrl: on.url ?? "", sessionManager });
}
