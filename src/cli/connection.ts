import type { ContextFile, ControlPlaneContext } from "../config/contexts.ts";
import { LlmgwError } from "../core/errors.ts";
import { didYouMean } from "../core/nearest.ts";
import type { Flags, OptionSpec } from "./command.ts";

/** Every verb of ctl takes these. */
export const CONNECTION_OPTIONS: readonly OptionSpec[] = [
  {
    flags: "--server <url>",
    doc: "the control plane, such as http://127.0.0.1:7443 (else LLMGW_SERVER, else the context)",
  },
  { flags: "--token <token>", doc: "the admin token, or one of a person (else LLMGW_TOKEN, else the context)" },
  { flags: "--token-file <file>", doc: "a file that holds the token, so that it is not in the process list" },
  { flags: "--ca <file>", doc: "trust this certificate authority (else LLMGW_CA, else the context)" },
  {
    flags: "--cert <file>",
    doc: "show this certificate in place of a token (else the context's); its role says what it may do",
  },
  { flags: "--key <file>", doc: "the private key of that certificate" },
  { flags: "--context <name>", doc: "use this control plane of the context file instead of its current one" },
];

/** A certificate and its private key. */
export interface CertificateFiles {
  readonly cert: string;
  readonly key: string;
}

/** Of --cert and --key; undefined: neither was given. */
export function certificateOf(flags: Pick<Flags, "text">): CertificateFiles | undefined {
  const [cert, key] = [flags.text("cert"), flags.text("key")];
  if (cert === undefined && key === undefined) return undefined;
  if (cert !== undefined && key !== undefined) return { cert, key };
  throw new LlmgwError("BAD_REQUEST", "--cert and --key go together: a certificate is nothing without its key.");
}

/** Which control plane to talk to, and who said so. */
export interface Connection {
  readonly server: string;
  readonly token: string | undefined;
  readonly caFile: string | undefined;
  /** What is shown in place of a token. */
  readonly certificate: CertificateFiles | undefined;
  /** For messages: "--server", "LLMGW_SERVER" or `context "up"`. */
  readonly from: string;
}

interface Sources {
  readonly flags: Pick<Flags, "text">;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly contexts: ContextFile;
  readonly contextPath: string;
  /** What --token-file holds. */
  readonly tokenFromFile: string | undefined;
}

/**
 * Flags win over variables, variables over the context file. A context's token goes to that context's server only: naming
 * another server must not hand it a secret.
 */
export function resolveConnection(sources: Sources): Connection {
  const { flags, tokenFromFile } = sources;
  const env = (name: string): string | undefined => sources.env[name] || undefined;
  const context = chosenContext(sources, env("LLMGW_SERVER") !== undefined);
  const { server, from } = chosenServer(sources, context);
  const own = context !== undefined && sameServer(context.server, server) ? context : undefined;
  const proof = chosenProof({ flags, tokenFromFile }, env("LLMGW_TOKEN"), own);
  return { server, from, ...proof, caFile: flags.text("ca") ?? env("LLMGW_CA") ?? own?.ca };
}

/** One proof of who is asking: the control plane would look at a token first, and never at the certificate that was meant. */
function chosenProof(
  { flags, tokenFromFile }: Pick<Sources, "flags" | "tokenFromFile">,
  tokenFromEnv: string | undefined,
  context: ControlPlaneContext | undefined,
): Pick<Connection, "token" | "certificate"> {
  const certificate = certificateOf(flags);
  const flagged = flags.text("token") ?? tokenFromFile;
  if (flagged !== undefined || certificate !== undefined) return { token: flagged, certificate };
  if (tokenFromEnv !== undefined) return { token: tokenFromEnv, certificate: undefined };
  const { token, cert, key } = context ?? {};
  const own = cert === undefined || key === undefined ? undefined : { cert, key };
  return { token, certificate: own };
}

function chosenServer(
  sources: Sources,
  context: NamedContext | undefined,
): { readonly server: string; readonly from: string } {
  const { flags, contextPath } = sources;
  const fromEnv = flags.text("context") === undefined ? sources.env["LLMGW_SERVER"] || undefined : undefined;
  const candidates = [
    { server: flags.text("server"), from: "--server" },
    { server: fromEnv, from: "LLMGW_SERVER" },
    { server: context?.server, from: `context "${context?.name ?? ""}" of ${contextPath}` },
  ];
  for (const { server, from } of candidates) {
    if (server === undefined) continue;
    checkAddress(server, from);
    return { server, from };
  }
  throw new LlmgwError(
    "BAD_REQUEST",
    `No control plane is named: give --server or LLMGW_SERVER, log in with \`llmgw ctl login\`, or start one here with \`llmgw up\`, which writes ${contextPath}.`,
  );
}

type NamedContext = ControlPlaneContext & { readonly name: string };

function chosenContext(sources: Sources, namedOtherwise: boolean): NamedContext | undefined {
  const { flags, contexts, contextPath } = sources;
  const asked = flags.text("context");
  const name = asked ?? contexts.current;
  if (name === undefined) return undefined;
  const context = contexts.contexts[name];
  if (context !== undefined) return { name, ...context };
  if (asked === undefined && (namedOtherwise || flags.text("server") !== undefined)) return undefined;
  const known = Object.keys(contexts.contexts);
  throw new LlmgwError(
    "NOT_FOUND",
    `There is no context "${name}" in ${contextPath}.${didYouMean(name, known)} It knows: ${known.join(", ") || "none"}.`,
  );
}

function sameServer(a: string, b: string): boolean {
  return URL.canParse(a) && URL.canParse(b) && new URL(a).origin === new URL(b).origin;
}

function checkAddress(server: string, from: string): void {
  const wrong = !URL.canParse(server) || !["http:", "https:"].includes(new URL(server).protocol);
  if (!wrong) return;
  throw new LlmgwError(
    "BAD_REQUEST",
    `"${server}" (${from}) is no address of a control plane: write http://HOST:7443.`,
  );
}
