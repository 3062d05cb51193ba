import { METHODS } from "node:http";
import { err, ok, type Result } from "../../../core/result.ts";
import type { ClientHeaders } from "../client-headers.ts";
import { TARGET } from "../../characters.ts";
import { Fields } from "./fields.ts";

/** How long a request's body is. */
type Framing = { readonly kind: "length"; readonly bytes: number } | { readonly kind: "chunked" };

interface RequestLine {
  readonly method: string;
  readonly target: string;
  /** Else HTTP/1.0. */
  readonly isHttp11: boolean;
}

export interface RequestHead extends RequestLine {
  readonly headers: ClientHeaders;
  /** Names as they were sent and values, in turn. */
  readonly rawHeaders: readonly string[];
  readonly framing: Framing;
  /** The client means to ask more on its connection. */
  readonly keepsAlive: boolean;
  /** What the client waits for before it sends its body. */
  readonly expectation: "nothing" | "continue" | "unknown";
}

const KNOWN_METHODS: ReadonlySet<string> = new Set(METHODS);
const VERSION = " HTTP/1.";
const DIGIT_0 = 0x30;
const DIGIT_1 = 0x31;
const COMMA = /[\t ]*,[\t ]*/;
const CONTINUE = /(?:^|\W)100-continue(?:$|\W)/i;
const NO_BODY: Framing = { kind: "length", bytes: 0 };
const CHUNKED: Framing = { kind: "chunked" };
/** 15 digits are exact in a number, and more than any body has. */
const LENGTH = /^\d{1,15}$/;
/** What is asked of a proxy, or of a server for itself. */
const WHOLE_URL = /^https?:\/\/[A-Za-z0-9._~:[\]%-]+(?:[/?]|$)/;

/**
 * Reads a request's head: latin-1 text with all its CRLFs up to but not including its empty line, which begins at `to`.
 * Whatever a strict reading of HTTP/1.1 does not allow is refused, with what it is in words for a log: who guesses where a
 * body ends has the next request made by somebody else.
 */
export function parseRequestHead(text: string, to: number): Result<RequestHead, string> {
  const lineEnd = text.indexOf("\r\n");
  const line = parseRequestLine(text, lineEnd);
  if (!line.ok) return line;
  const fields = new Fields();
  fields.read(text, lineEnd + 2, to);
  return fields.problem === undefined ? withFraming(fields, line.value) : err(fields.problem);
}

/** Reads the first line, which ends before `end`; whatever follows is not looked at. */
export function parseRequestLine(text: string, end: number): Result<RequestLine, string> {
  const methodEnd = text.indexOf(" ");
  const method = text.slice(0, Math.max(0, methodEnd));
  if (!KNOWN_METHODS.has(method)) return err("its method is none");
  const targetEnd = end - VERSION.length - 1;
  const minor = text.charCodeAt(end - 1);
  if (!text.startsWith(VERSION, targetEnd) || (minor !== DIGIT_0 && minor !== DIGIT_1))
    return err("its first line is no HTTP/1.1");
  const target = text.slice(methodEnd + 1, Math.max(0, targetEnd));
  return isTarget(target) ? ok({ method, target, isHttp11: minor === DIGIT_1 }) : err("its target is malformed");
}

function isTarget(target: string): boolean {
  for (let at = 0; at < target.length; at += 1) if (TARGET[target.charCodeAt(at)] !== 1) return false;
  return target.startsWith("/") || target === "*" || WHOLE_URL.test(target);
}

function withFraming(fields: Fields, line: RequestLine): Result<RequestHead, string> {
  const { headers, raw, host, connection } = fields;
  const { isHttp11 } = line;
  if (isHttp11 && host === undefined) return err("it names no host");
  const framing = framingOf(headers, isHttp11);
  if (!framing.ok) return framing;
  return ok({
    method: line.method,
    target: line.target,
    isHttp11,
    headers,
    rawHeaders: raw,
    framing: framing.value,
    keepsAlive: keepsAlive(connection, isHttp11),
    expectation: isHttp11 && headers.expect !== undefined ? expectationOf(headers.expect) : "nothing",
  });
}

function framingOf(headers: ClientHeaders, isHttp11: boolean): Result<Framing, string> {
  const { "content-length": length, "transfer-encoding": coding } = headers;
  if (coding !== undefined) {
    if (length !== undefined) return err("it states a length and is chunked");
    if (!isHttp11) return err("it is chunked in HTTP/1.0");
    return coding.toLowerCase() === "chunked" ? ok(CHUNKED) : err("its transfer coding is not chunked");
  }
  if (length === undefined) return ok(NO_BODY);
  return LENGTH.test(length) ? ok({ kind: "length", bytes: Number(length) }) : err("its length is no number");
}

function keepsAlive(connection: string | undefined, isHttp11: boolean): boolean {
  if (connection === undefined) return isHttp11;
  const options = connection.toLowerCase();
  if (options === "keep-alive") return true;
  const names = options.split(COMMA);
  return !names.includes("close") && (isHttp11 || names.includes("keep-alive"));
}

const expectationOf = (expect: string): RequestHead["expectation"] => (CONTINUE.test(expect) ? "continue" : "unknown");
