import { timestampMs } from "@bufbuild/protobuf/wkt";
import { formatAge, formatDuration } from "../../core/format.ts";
import type { Attempt, GetRequestResponse, UsageRecord } from "../../wire/gen/llmgw/v1/usage_pb.js";
import { type Looking, stateColour } from "./columns.ts";
import { folded, oneLine } from "./text.ts";

/** What became of the requests with one id: a block for each, the latest first. */
export const requestPage = ({ requests }: GetRequestResponse, looking: Looking): string =>
  requests.flatMap(({ record, router }) => (record === undefined ? [] : [block(record, router, looking)])).join("\n");

function block(record: UsageRecord, router: string, looking: Looking): string {
  const { colours } = looking;
  const { requestId, tries, outcome } = record;
  const fields: readonly Field[] = [
    { label: "When", text: whenInWords(record, looking) },
    { label: "Asked", text: askedInWords(record) },
    { label: "Key", text: record.keyName },
    { label: "Took", text: tookInWords(record) },
    {
      label: "Outcome",
      text: outcomeInWords(record),
      paint: stateColour(outcome === "complete" ? "ready" : "failed", colours),
    },
    { label: "Tokens", text: tokensInWords(record) },
    { label: "Router", text: router },
  ];
  const lines = [
    colours.bold(`request ${oneLine(requestId)}`),
    ...fields.filter(({ text }) => text !== "").flatMap((field) => fieldLines(field, looking)),
    "",
    ...(tries.length === 0 ? ["It was sent to no replica."] : tries.flatMap((each, at) => tryLines(each, at, looking))),
  ];
  return lines.map((line) => `${line}\n`).join("");
}

const LABEL = 10;

interface Field {
  readonly label: string;
  readonly text: string;
  readonly paint?: ((text: string) => string) | undefined;
}

/** A line, or as many as the terminal's width makes of it: reasons are what was asked for, so that they are not cut. */
function fieldLines({ label, text, paint = String }: Field, { width = Infinity }: Looking): readonly string[] {
  const indent = " ".repeat(LABEL + 2);
  const [first = "", ...more] = folded(oneLine(text), width - indent.length);
  return [`  ${label.padEnd(LABEL)}${paint(first)}`, ...more.map((line) => indent + paint(line))];
}

function whenInWords({ endedAt, durationMs }: UsageRecord, { now }: Looking): string {
  if (endedAt === undefined) return "";
  const ended = timestampMs(endedAt);
  return `began ${new Date(ended - durationMs).toISOString()}, ended ${formatAge(now - ended)} ago`;
}

function askedInWords({ path, model, profile, stream }: UsageRecord): string {
  const of = model === "" ? "no model that is served" : `model ${model}`;
  const by = profile === "" || profile === model ? "" : `, which is profile ${profile}`;
  return `${path} of ${of}${by}${stream ? ", as a stream" : ""}`.trim();
}

function tookInWords({ durationMs, waitedMs, firstTokenMs }: UsageRecord): string {
  const waited = waitedMs === 0 ? [] : [`${finely(waitedMs)} of it waited for a free slot`];
  const first = firstTokenMs === undefined ? [] : [`${finely(firstTokenMs)} to the first token`];
  return [finely(durationMs), ...waited, ...first].join(", ");
}

const TENTHS_BELOW_MS = 60_000;

/** Of a request a tenth of a second is worth telling. */
const finely = (ms: number): string =>
  ms < 1000 || ms >= TENTHS_BELOW_MS ? formatDuration(ms) : `${(ms / 1000).toFixed(1)}s`;

const outcomeInWords = ({ outcome, code, detail }: UsageRecord): string =>
  `${outcome}, status ${String(code)}${detail === "" ? "" : `: ${detail}`}`;

function tokensInWords({ promptTokens, cachedTokens, completionTokens, estimated, served }: UsageRecord): string {
  if (!served) return "none: no engine worked on it";
  const cached = cachedTokens === 0 ? "" : ` (${String(cachedTokens)} of them cached)`;
  const guessed = estimated ? ", estimated: the engine had not said its counts" : "";
  return `${String(promptTokens)} of the prompt${cached}, ${String(completionTokens)} of the answer${guessed}`;
}

function tryLines(sent: Attempt, at: number, looking: Looking): readonly string[] {
  const { colours } = looking;
  const { candidates, replicas, inFlight, failure } = sent;
  const choice = `${String(candidates)} of ${String(replicas)} ${replicas === 1 ? "replica" : "replicas"} could take it`;
  const busy = `${String(inFlight)} in flight at this one`;
  const failed = { label: "Failed", text: failure, paint: colours.red };
  return [
    `try ${String(at + 1)}: ${oneLine(sent.replica)} after ${finely(sent.atMs)}`,
    ...fieldLines({ label: "Why", text: `${sent.why}; ${choice}, ${busy}` }, looking),
    ...(failure === "" ? [] : fieldLines(failed, looking)),
  ];
}
