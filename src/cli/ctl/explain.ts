import { Code, ConnectError } from "@connectrpc/connect";
import { type ExplainResponse, ExplainResponseSchema } from "../../wire/gen/llmgw/v1/admin_pb.js";
import { type GetRequestResponse, GetRequestResponseSchema } from "../../wire/gen/llmgw/v1/usage_pb.js";
import { UpstreamExplanationSchema } from "../../wire/gen/llmgw/v1/upstream_pb.js";
import { LlmgwError } from "../../core/errors.ts";
import { upstreamId } from "../../core/upstream.ts";
import type { AdminClient } from "../../run/client.ts";
import type { CommandSpec } from "../command.ts";
import { OUTPUT_PAGE } from "../options.ts";
import { explainPage } from "../render/explain-page.ts";
import { requestPage } from "../render/request-page.ts";
import { upstreamPage } from "../render/upstream-page.ts";
import type { Looking } from "../render/columns.ts";
import { lookingNow } from "./listing.ts";
import { bareName, findReplica, NAMES_OF } from "./names.ts";
import { isDocument, outputOf, plain, printDocument } from "./output.ts";
import { withSession } from "./session.ts";

export const explain: CommandSpec = {
  name: "explain",
  summary: "say why something is where it is, or nowhere, and what would change that; or what became of a request",
  details:
    "For each node every rule that says no, and the smallest change that would make that rule say yes; before it what a replica is estimated to take, part by part, and what that is known from. Of a request that is over: each replica that it was sent to, why that one, and what went wrong with it.",
  arguments: [
    {
      form: "<name>",
      doc: "a profile, an upstream, a replica by its name or the beginning of it, or the id of a request (x-request-id of its answer)",
      completes: ["profile", "replica", "upstream"],
    },
  ],
  options: [OUTPUT_PAGE],
  examples: [
    { line: "llmgw ctl explain qwen3-32b", doc: "would one more replica of it find a place?" },
    { line: "llmgw ctl explain qwen3-32b-x1f9 -o json", doc: "one replica, for scripts" },
    { line: "llmgw ctl explain upstream/cloud", doc: "how an endpoint elsewhere is asked, and what is in the way" },
    { line: "llmgw ctl explain 4b1f0c52-req", doc: "which replicas had the request, and why" },
  ],
  run: (call) =>
    withSession(call, async ({ client }) => {
      const [asked] = call.args;
      if (asked === undefined) {
        throw new LlmgwError("BAD_REQUEST", "explain needs the name of a profile or a replica, or the id of a request");
      }
      const { document, page } = await answerOf(client, asked);
      const output = outputOf(call);
      if (isDocument(output)) printDocument(call, output, document());
      else call.io.stdout.write(page(lookingNow(call)));
      return 0;
    }),
};

interface Answer {
  readonly document: () => unknown;
  readonly page: (looking: Looking) => string;
}

/** A profile or an upstream by its whole name; anything else is looked for among the replicas, then among the requests. */
async function answerOf(client: AdminClient, asked: string): Promise<Answer> {
  const profile = bareName("profile", asked);
  if ((await NAMES_OF.profile(client)).includes(profile)) return ofPlace(await client.explain({ name: profile }));
  const upstream = bareName("upstream", asked);
  if ((await NAMES_OF.upstream(client)).includes(upstream)) return ofUpstream(client, upstream);
  try {
    return ofPlace(await client.explain({ name: await findReplica(client, asked) }));
  } catch (error) {
    if (!isNotFound(error)) throw error;
    return ofRequest(await requestNamed(client, asked, error));
  }
}

const ofPlace = (answer: ExplainResponse): Answer => ({
  document: () => plain(ExplainResponseSchema, answer),
  page: (looking) => explainPage(answer, looking),
});

async function ofUpstream(client: AdminClient, name: string): Promise<Answer> {
  const answer = await client.explain({ name: upstreamId(name) });
  const { upstream } = answer;
  if (upstream === undefined) return ofPlace(answer);
  return {
    document: () => plain(UpstreamExplanationSchema, upstream),
    page: (looking) => upstreamPage(upstream, looking),
  };
}

const ofRequest = (answer: GetRequestResponse): Answer => ({
  document: () => plain(GetRequestResponseSchema, answer),
  page: (looking) => requestPage(answer, looking),
});

/** What is no request either may be a name that was mistyped, or a request of which nothing is known yet or any more. */
async function requestNamed(client: AdminClient, requestId: string, notFound: LlmgwError): Promise<GetRequestResponse> {
  try {
    return await client.getRequest({ requestId });
  } catch (error) {
    if (!(error instanceof ConnectError) || error.code !== Code.NotFound) throw error;
    throw new LlmgwError("NOT_FOUND", `${notFound.message} ${error.rawMessage}`, { cause: error });
  }
}

const isNotFound = (error: unknown): error is LlmgwError => error instanceof LlmgwError && error.code === "NOT_FOUND";
