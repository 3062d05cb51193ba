import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import { isLoopback } from "../../../config/ip.ts";
import { hostOf } from "../../../config/server-address.ts";
import { LlmgwError } from "../../../core/errors.ts";
import { formatDuration } from "../../../core/format.ts";
import { type Millis, millis } from "../../../core/ids.ts";
import { GRANTED_ROLES } from "../../../core/roles.ts";
import {
  type CreateTokenRequestSchema,
  type CreateTokenResponse,
  CreateTokenResponseSchema,
  type Token,
} from "../../../wire/gen/llmgw/v1/trust_pb.js";
import type { Call, CommandSpec, Flags } from "../../command.ts";
import { OUTPUT_PAGE } from "../../options.ts";
import { isDocument, outputOf, plain, printDocument } from "../output.ts";
import { withSession } from "../session.ts";

const HOUR_MS = 3_600_000;

type Request = MessageInitShape<typeof CreateTokenRequestSchema>;

/** Long enough to walk to the machine, short enough that a token in somebody's history is of no use. */
const JOIN_TTL = millis(HOUR_MS);
/** A token of a person is renewed four times a year. */
const USER_TTL = millis(90 * 24 * HOUR_MS);

export const create: CommandSpec = {
  name: "create",
  summary: "make a token for a new node, or with --role for a person or a program",
  details:
    "It is shown once: only its hash is kept. A join token carries the hash of the control plane's authority, so that the node knows whom it talks to.",
  arguments: [{ form: "[name]", doc: "whose token it is; only with --role" }],
  options: [
    { flags: "--node <id>", doc: "admit this node and no other (default: any that is not connected)" },
    { flags: "--uses <n>", doc: "how many nodes it admits (default: 1)" },
    {
      flags: "--ttl <duration>",
      doc: `how long it is good (default: ${formatDuration(JOIN_TTL)}; with --role ${formatDuration(USER_TTL)})`,
    },
    {
      flags: "--role <role>",
      doc: "not for a node, but for somebody with this role: viewers read, operators change what runs, admins do everything, routers route",
      choices: GRANTED_ROLES,
    },
    OUTPUT_PAGE,
  ],
  examples: [
    { line: "llmgw ctl token create", doc: "prints the one command to paste on the new node" },
    { line: "llmgw ctl token create --node gpu-a-01 --ttl 10m", doc: "for exactly that node" },
    { line: "llmgw ctl token create --uses 40 --ttl 1d", doc: "for a rack, as join_token in every agent.yaml" },
    { line: "llmgw ctl token create alice --role operator", doc: "for a colleague, who then runs llmgw ctl login" },
  ],
  run: (call) => {
    const request = requestOf(call);
    return withSession(call, async ({ client, connection }) => {
      const created = await client.createToken(request);
      const output = outputOf(call);
      const url = created.serverUrl === "" ? connection.server : created.serverUrl;
      if (isDocument(output)) {
        const command = commandOf(created, url);
        printDocument(call, output, { ...(plain(CreateTokenResponseSchema, created) as object), command });
      } else show(call, created, url);
      return 0;
    });
  },
};

function requestOf({ flags, args }: Call): Request {
  const [name] = args;
  const role = flags.text("role");
  const ttlSeconds = ttlOf(flags, role === undefined ? JOIN_TTL : USER_TTL);
  if (role === undefined) {
    if (name !== undefined) {
      throw new LlmgwError(
        "BAD_REQUEST",
        `A name goes with --role, for a person's token; write --node ${name} for a token of the node ${name}.`,
      );
    }
    const uses = flags.integer("uses", 1) ?? 1;
    return { ttlSeconds, grant: { case: "join", value: { node: flags.textOr("node", ""), uses } } };
  }
  if (name === undefined) throw new LlmgwError("BAD_REQUEST", "With --role the token needs a name: whose is it?");
  const wrong = ["node", "uses"].find((flag) => flags.text(flag) !== undefined);
  if (wrong !== undefined)
    throw new LlmgwError("BAD_REQUEST", `--${wrong} is for join tokens, and --role for people's.`);
  return { ttlSeconds, grant: { case: "user", value: { name, role } } };
}

/** In seconds. */
function ttlOf(flags: Flags, usual: Millis): number {
  const ttl = flags.duration("ttl") ?? usual;
  if (ttl >= 1000 && ttl <= 3650 * 24 * HOUR_MS) return Math.ceil(ttl / 1000);
  throw new LlmgwError("BAD_REQUEST", `--ttl takes a duration from 1s to 3650d, not ${flags.textOr("ttl", "")}.`);
}

/** What to paste. A token that goes to `login` is typed there: shells remember their lines. */
function commandOf({ token, secret }: CreateTokenResponse, url: string): string {
  if (token?.kind === "user") return `llmgw ctl login ${url}`;
  const node = token === undefined || token.node === "" ? "" : ` --node-id ${token.node}`;
  return `llmgw agent join ${url} --token ${secret}${node}`;
}

function show({ io }: Call, created: CreateTokenResponse, url: string): void {
  const { token } = created;
  // The library knows no message that must be there.
  if (token === undefined) return;
  const command = commandOf(created, url);
  if (token.kind === "user") {
    io.stdout.write(`${created.secret}\n`);
    io.stderr.write(
      `This is the token of ${token.name} (${token.role}), good for ${goodFor(token)}. Keep it: it cannot be shown again.\n` +
        `\`${command}\` asks for it.\n`,
    );
    return;
  }
  io.stdout.write(`${command}\n`);
  const whom = token.uses === 1 ? "one node" : `${String(token.uses)} nodes`;
  io.stderr.write(`Paste it on the new node, as root. The token admits ${whom} within ${goodFor(token)}.\n`);
  if (isLoopback(hostOf(url))) {
    io.stderr.write(`${url} is this machine only: on other nodes write the address by which they reach it.\n`);
  }
}

const goodFor = ({ createdAt, expiresAt }: Token): string =>
  createdAt === undefined || expiresAt === undefined
    ? ""
    : formatDuration(timestampMs(expiresAt) - timestampMs(createdAt));
