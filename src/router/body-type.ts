import type { ClientHeaders } from "./client/client-headers.ts";
import type { Refusal } from "./error-body.ts";

/** What a path's body is written in. */
export type BodyType =
  | "json"
  /** Fields and files, as browsers send forms. */
  | "form";

const JSON_TYPE = /^(?:application\/(?:[\w.+-]+\+)?json)$/;
const FORM_TYPE = "multipart/form-data";
const BOUNDARY = /;\s*boundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))\s*(?:;|$)/i;

/** What the body is to be read as; or why its type is none that the path takes. */
export type ReadAs =
  | { readonly kind: "json" }
  | { readonly kind: "form"; readonly boundary: string }
  | { readonly kind: "refused"; readonly refusal: Refusal };

/** What tools write that were told nothing else. A page of any origin may send it too, and without asking first. */
const CARELESS: ReadonlySet<string> = new Set(["text/plain", "application/x-www-form-urlencoded"]);

type Headers = Pick<ClientHeaders, "content-type" | "origin">;

const AS_JSON: ReadAs = { kind: "json" };

export function readAs(type: BodyType, headers: Headers): ReadAs {
  const { "content-type": contentType = "" } = headers;
  // What nearly all send.
  if (type === "json" && contentType === "application/json") return AS_JSON;
  const media = (contentType.split(";")[0] ?? "").trim().toLowerCase();
  if (type === "json") return isJson(media, headers) ? AS_JSON : refused(media, "application/json");
  return media === FORM_TYPE ? readForm(contentType) : refused(media, FORM_TYPE);
}

/** Only programs may be careless about the type of JSON: from a page it would be a request that nobody allowed. */
const isJson = (media: string, { origin }: Headers): boolean =>
  media === "" || JSON_TYPE.test(media) || (CARELESS.has(media) && origin === undefined);

function readForm(contentType: string): ReadAs {
  const [, quoted, plain] = BOUNDARY.exec(contentType) ?? [];
  const boundary = quoted ?? plain;
  if (boundary !== undefined) return { kind: "form", boundary };
  const message = "The request's Content-Type names no boundary between the parts of the form.";
  return { kind: "refused", refusal: { code: "BAD_REQUEST", message } };
}

function refused(media: string, wanted: string): ReadAs {
  const given =
    media === "" ? "The request has no Content-Type" : `The request's Content-Type is ${media.slice(0, 100)}`;
  return { kind: "refused", refusal: { code: "UNSUPPORTED_TYPE", message: `${given}; this path takes ${wanted}.` } };
}
