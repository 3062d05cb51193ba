import { ConnectError } from "@connectrpc/connect";
import { type ErrorCode, LlmgwError, messageOf } from "../../core/errors.ts";
import { systemClock } from "../../platform/clock.ts";
import { createLogger } from "../../platform/logger.ts";
import { type AdminClient, type AdminTarget, type CallWatcher, connectAdmin } from "../../run/client.ts";
import { readTlsFiles } from "../../pki/material.ts";
import { troubleWithServer } from "../../pki/tls-words.ts";
import { readContextFile } from "../../run/context-file.ts";
import { contextFilePath } from "../../run/paths.ts";
import type { Call, Flags } from "../command.ts";
import { type Connection, resolveConnection } from "../connection.ts";
import { failureOf } from "../failure.ts";
import type { Io } from "../io.ts";
import { homeFolder } from "../../platform/user.ts";
import { logSettings } from "../log-settings.ts";
import { readNamedFile } from "../named-file.ts";

/** A verb's way to the control plane. */
export interface Session {
  readonly client: AdminClient;
  readonly connection: Connection;
  readonly ca: string | undefined;
}

/**
 * Runs the work with a connection that is closed afterwards. Failures are told with the address that was asked.
 *
 * @param timeoutMs for each call that answers once; left out: as long as such calls usually may take
 */
export async function withSession(
  call: Call,
  work: (session: Session) => Promise<number>,
  timeoutMs?: number,
): Promise<number> {
  const connection = await connectionFor(call.flags, call.io);
  const ca =
    connection.caFile === undefined ? undefined : await readNamedFile(connection.caFile, "the certificate authority");
  const { server, token } = connection;
  const certificate = await readCertificate(connection.certificate);
  const timeout = timeoutMs === undefined ? {} : { timeoutMs };
  const admin = connectAdmin({ server, token, ca, ...certificate, ...timeout }, await callLog(call));
  try {
    return await work({ client: admin.client, connection, ca });
  } catch (error) {
    throw explained(error, connection);
  } finally {
    admin.close();
  }
}

async function connectionFor(flags: Flags, io: Io): Promise<Connection> {
  const contextPath = contextFilePath({ env: io.env, home: homeFolder(io.env) });
  const contexts = await readContextFile(contextPath);
  const tokenFile = flags.text("token-file");
  const tokenFromFile =
    tokenFile === undefined ? undefined : (await readNamedFile(tokenFile, "the admin token")).trim();
  return resolveConnection({ flags, env: io.env, contexts, contextPath, tokenFromFile });
}

/** Of an operator who has one. */
export async function readCertificate(files: Connection["certificate"]): Promise<Pick<AdminTarget, "certificate">> {
  if (files === undefined) return {};
  const read = await readTlsFiles(files, "--");
  if (!read.ok) throw new LlmgwError("BAD_REQUEST", `${read.error.join("\n")}.`);
  return { certificate: { cert: read.value.cert, key: read.value.key } };
}

/** With --log-level debug every call is logged on stderr. */
async function callLog(call: Call): Promise<CallWatcher | undefined> {
  const { level, format } = logSettings(call, "warn");
  if (level !== "debug" && level !== "trace") return undefined;
  const logger = await createLogger(level, format);
  return (method, milliseconds, failure) => {
    const outcome = failure === undefined ? {} : { failure: messageOf(failure) };
    logger.debug({ method, ms: Math.round(milliseconds), ...outcome }, "call");
  };
}

/** A failure of a call, with the address that was asked and what to do. */
export function explained(error: unknown, connection: Connection): unknown {
  if (!(error instanceof ConnectError)) return error;
  const failure = failureOf(error);
  const { server, from, token, certificate } = connection;
  const place = `The control plane at ${server} (${from})`;
  const tls = troubleWithServer(error, systemClock.now());
  // The library has no code of its own for it.
  if (tls !== undefined) return new LlmgwError("UNREACHABLE", `${place} cannot be reached: ${tls}.`, { cause: error });
  const sentences: Partial<Record<ErrorCode, string>> = {
    UNREACHABLE: `${place} cannot be reached: ${failure.message}. Is it running?`,
    UNAUTHENTICATED:
      token === undefined && certificate === undefined
        ? `${place} wants a token and none was given: give --token-file or LLMGW_TOKEN, or log in with \`llmgw ctl login\`. The admin token is in the file admin-token of its data folder.`
        : `${place} refuses: ${failure.message}.`,
    WAIT_TIMEOUT: `${place} did not answer in time.`,
  };
  return new LlmgwError(failure.code, sentences[failure.code] ?? failure.message, { cause: error });
}
