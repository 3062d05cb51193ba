import { dirname, join, resolve } from "node:path";
import { hostOf, isOpenHttp, parseServerAddress } from "../../config/server-address.ts";
import type { ControlPlaneContext } from "../../config/contexts.ts";
import { isOfKind, readToken as parseToken, type TokenText } from "../../core/access-token.ts";
import { LlmgwError } from "../../core/errors.ts";
import { systemClock } from "../../platform/clock.ts";
import { readTextIfThere, writeFileAtomic } from "../../platform/files.ts";
import { homeFolder } from "../../platform/user.ts";
import { connectAdmin } from "../../run/client.ts";
import { saveContext } from "../../run/context-file.ts";
import type { EnrolFailure } from "../../run/enrol.ts";
import { contextFilePath } from "../../run/paths.ts";
import type { Call, CommandSpec } from "../command.ts";
import { type CertificateFiles, certificateOf } from "../connection.ts";
import { readToken } from "../secret-input.ts";
import { explained, readCertificate } from "./session.ts";

export const login: CommandSpec = {
  name: "login",
  summary: "remember a control plane, and a token or a certificate for it",
  details:
    "Writes the context file (mode 0600), once the control plane has taken the token. With --cert and --key it remembers where that certificate lies, and no token. The token is asked for unseen, or read from stdin; --token-file and --token give it otherwise. One that `llmgw ctl token create` made carries the hash of the control plane's authority, so that no --ca is needed.",
  arguments: [{ form: "<url>", doc: "the control plane, such as https://llmgw.example:7443" }],
  examples: [
    { line: "llmgw ctl login https://llmgw.example:7443", doc: "asks for the token" },
    { line: "llmgw ctl login https://llmgw.example:7443 --ca ca.pem < admin-token", doc: "with the admin token" },
    {
      line: "llmgw ctl login https://llmgw.example:7443 --ca ca.pem --cert alice.pem --key alice-key.pem",
      doc: "with a certificate",
    },
    {
      line: "llmgw ctl login https://lab.example:7443 --context lab",
      doc: "another one beside it: ctl --context lab …",
    },
  ],
  run: logIn,
};

interface Secret {
  /** As it is shown to the control plane; undefined: a certificate is. */
  readonly token: string | undefined;
  readonly certificate?: CertificateFiles;
  /** PEM, and the file that it is or will be in. */
  readonly ca: { readonly text: string; readonly file: string } | undefined;
}

async function logIn(call: Call): Promise<number> {
  const { flags, io, args } = call;
  const address = parseServerAddress(args[0] ?? "");
  if (!address.ok) throw new LlmgwError("BAD_REQUEST", `The control plane's address ${address.error}.`);
  const server = address.value;
  const name = flags.text("context") ?? contextName(server);
  const path = contextFilePath({ env: io.env, home: homeFolder(io.env) });
  const secret =
    (await certificateIn(call, server)) ??
    (await secretOf(call, {
      server,
      text: await readToken(call, "the token"),
      caFile: join(dirname(path), `${name}-ca.pem`),
    }));
  const { token, certificate, ca } = secret;
  const caller = await tryOut(server, secret);
  if (ca !== undefined && flags.text("ca") === undefined) await writeFileAtomic(ca.file, ca.text);
  const context: ControlPlaneContext = {
    server,
    ...(token === undefined ? {} : { token }),
    ...(ca === undefined ? {} : { ca: ca.file }),
    ...certificate,
  };
  await saveContext(path, name, context);
  io.stdout.write(`Logged in to ${server} as ${caller}.\n`);
  io.stderr.write(`It is the context "${name}" of ${path}, and the current one.\n`);
  warnOfPlainHttp(call, server);
  return 0;
}

/** Undefined: no certificate was named. Its files are remembered where they lie, whatever folder the next command is in. */
async function certificateIn({ flags }: Call, server: string): Promise<Secret | undefined> {
  const files = certificateOf(flags);
  if (files === undefined) return undefined;
  if (flags.text("token") !== undefined || flags.text("token-file") !== undefined) {
    throw new LlmgwError("BAD_REQUEST", "A token or a certificate: leave out --token or --cert and --key.");
  }
  if (server.startsWith("http:")) {
    throw new LlmgwError("BAD_REQUEST", `${server} is plain http: a certificate is shown over https alone.`);
  }
  const named = flags.text("ca");
  const ca = named === undefined ? undefined : await authorityIn(named);
  return { token: undefined, certificate: { cert: resolve(files.cert), key: resolve(files.key) }, ca };
}

/** The usual port needs no mention. */
function contextName(server: string): string {
  const { port } = new URL(server);
  const host = hostOf(server).replaceAll(":", "-");
  return port === "7443" ? host : `${host}-${port === "" ? "443" : port}`;
}

interface Typed {
  readonly server: string;
  readonly text: string;
  readonly caFile: string;
}

async function secretOf({ flags, io }: Call, { server, text, caFile }: Typed): Promise<Secret> {
  const read = parseToken(text);
  if (isJoinToken(read)) {
    throw new LlmgwError(
      "FORBIDDEN",
      "This is a join token: it admits a node, with `llmgw agent join`, and gives no orders.",
    );
  }
  const token = read?.secret ?? text;
  const named = flags.text("ca");
  if (named !== undefined) return { token, ca: await authorityIn(named) };
  if (read?.pin === undefined) return { token, ca: undefined };
  const { trustedAuthorities } = await import("../../run/enrol.ts");
  const trusted = await trustedAuthorities({ server, token: read, ca: undefined, env: io.env }, systemClock.now());
  if (!trusted.ok) throw untrusted(server, trusted.error);
  return { token, ca: { text: trusted.value.join(""), file: caFile } };
}

const isJoinToken = (read: TokenText | undefined): boolean => read !== undefined && isOfKind(read, "join");

async function authorityIn(path: string): Promise<NonNullable<Secret["ca"]>> {
  const text = await readTextIfThere(path);
  if (text === undefined) throw new LlmgwError("BAD_REQUEST", `--ca: there is no file ${path}.`);
  return { text, file: resolve(path) };
}

const untrusted = (server: string, { kind, reason }: EnrolFailure): LlmgwError =>
  kind === "refused"
    ? new LlmgwError("FORBIDDEN", `${server} is not to be trusted: ${reason}.`)
    : new LlmgwError("UNREACHABLE", `${server} cannot be reached: ${reason}.`);

/** Nothing is remembered that does not work. */
async function tryOut(server: string, { token, certificate, ca }: Secret): Promise<string> {
  const admin = connectAdmin({ server, token, ca: ca?.text, ...(await readCertificate(certificate)) });
  try {
    const { name, role } = await admin.client.getCaller({});
    return name.includes(role) ? name : `${name} (${role})`;
  } catch (error) {
    throw explained(error, { server, token, certificate, from: "as it was typed", caFile: undefined });
  } finally {
    admin.close();
  }
}

function warnOfPlainHttp({ io }: Call, server: string): void {
  if (isOpenHttp(server)) io.stderr.write(`${server} is plain http: anyone on the way can read the token.\n`);
}
