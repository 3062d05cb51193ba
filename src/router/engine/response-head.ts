import { err, ok, type Result } from "../../core/result.ts";
import { readHeaderLines } from "../header-lines.ts";

/** How an answer's body is delimited. */
type Framing =
  | { readonly kind: "none" }
  | { readonly kind: "length"; readonly bytes: number }
  | { readonly kind: "chunked" }
  /** Everything until the engine closes. */
  | { readonly kind: "untilClose" };

export interface ResponseHead {
  readonly status: number;
  /** Names in lower case and values in turn, as they came. */
  readonly headers: readonly string[];
  readonly framing: Framing;
  readonly keepAlive: boolean;
  /** Seconds that the engine keeps an idle connection, when it says so. */
  readonly keepAliveSeconds: number | undefined;
}

export type ParsedHead =
  /** 100 Continue and its like: the real head is still to come. */
  { readonly kind: "interim" } | { readonly kind: "final"; readonly head: ResponseHead };

const STATUS_LINE = /^HTTP\/1\.([01]) ([1-5]\d\d)(?: [\t\x20-\x7e\x80-\xff]*)?$/;
const LENGTH = /^\d{1,15}$/;
const KEEP_ALIVE_TIMEOUT = /(?:^|[,\s])timeout=(\d{1,6})/i;

/**
 * Reads a response head: latin-1 text with all its CRLFs up to but not including its empty line, which begins at `to`. Engines
 * are known programs, so whatever a strict reading of HTTP/1.1 does not allow is an error: guessing where a body ends is how
 * answers get mixed up.
 */
export function parseResponseHead(text: string, to: number): Result<ParsedHead, string> {
  const lineEnd = text.indexOf("\r\n");
  const status = STATUS_LINE.exec(text.slice(0, Math.max(0, lineEnd)));
  if (status === null) return err("its status line is no HTTP/1.1");
  const code = Number(status[2]);
  const lines = readHeaderLines(text, lineEnd + 2, to);
  if (!lines.ok) return lines;
  const headers = lines.value;
  for (let index = 0; index < headers.length; index += 2) headers[index] = headers[index]?.toLowerCase() ?? "";
  if (code === 101) return err("it switches to a protocol that nobody asked for");
  if (code < 200) return ok({ kind: "interim" });
  return withFraming({ code, isHttp11: status[1] === "1", headers });
}

interface Fields {
  readonly code: number;
  readonly isHttp11: boolean;
  readonly headers: readonly string[];
}

function withFraming({ code, isHttp11, headers }: Fields): Result<ParsedHead, string> {
  const lengths = valuesOf(headers, "content-length");
  const framing = framingOf(code, lengths, joined(headers, "transfer-encoding"));
  if (!framing.ok) return framing;
  const connection = joined(headers, "connection");
  const isKept = isHttp11 ? !connection.includes("close") : connection.includes("keep-alive");
  return ok({
    kind: "final",
    head: {
      status: code,
      headers,
      framing: framing.value,
      keepAlive: isKept && framing.value.kind !== "untilClose",
      keepAliveSeconds: timeoutOf(joined(headers, "keep-alive")),
    },
  });
}

function timeoutOf(keepAlive: string): number | undefined {
  const timeout = keepAlive === "" ? undefined : KEEP_ALIVE_TIMEOUT.exec(keepAlive)?.[1];
  return timeout === undefined ? undefined : Number(timeout);
}

/** All values of a header in lower case, as one list; "" for none, which most answers have. */
const joined = (headers: readonly string[], name: string): string =>
  headers.includes(name) ? valuesOf(headers, name).join(", ").toLowerCase() : "";

/** All values of a header, by its name in lower case. */
export function valuesOf(headers: readonly string[], name: string): readonly string[] {
  const values: string[] = [];
  for (let index = 0; index < headers.length; index += 2) {
    if (headers[index] === name) values.push(headers[index + 1] ?? "");
  }
  return values;
}

function framingOf(code: number, lengths: readonly string[], coding: string): Result<Framing, string> {
  const [length] = lengths;
  const problem = framingProblem(lengths, coding);
  if (problem !== undefined) return err(problem);
  if (code === 204 || code === 304) return ok({ kind: "none" });
  if (length !== undefined) return ok({ kind: "length", bytes: Number(length) });
  return ok({ kind: coding === "" ? "untilClose" : "chunked" });
}

function framingProblem(lengths: readonly string[], coding: string): string | undefined {
  if (coding !== "" && coding !== "chunked") return "its transfer coding is not chunked";
  const [length] = lengths;
  if (length === undefined) return undefined;
  if (coding !== "") return "it states a length and is chunked";
  if (lengths.some((other) => other !== length)) return "it states two lengths";
  return LENGTH.test(length) ? undefined : "its length is no number";
}
