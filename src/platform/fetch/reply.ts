import type { HeaderValues } from "./answer.ts";

/** What a server answered to the question for a range, or for the whole. */
export type Reply =
  | {
      readonly kind: "part";
      readonly start: number;
      readonly total: number | undefined;
      readonly validator: string | undefined;
    }
  | { readonly kind: "whole"; readonly size: number | undefined; readonly validator: string | undefined }
  /** There is nothing in the range; `total` is what there is. */
  | { readonly kind: "no-such-range"; readonly total: number | undefined }
  | { readonly kind: "failure"; readonly status: number };

export function readReply(status: number, headers: HeaderValues): Reply {
  if (status === 206) return readPart(headers);
  if (status === 416) return { kind: "no-such-range", total: totalOf(headers, /^bytes \*\/(\d+)$/) };
  if (status === 200 || status === 203) {
    return { kind: "whole", size: lengthOf(headers), validator: validatorOf(headers) };
  }
  return { kind: "failure", status };
}

function readPart(headers: HeaderValues): Reply {
  const start = /^bytes (\d+)-\d+\/(?:\d+|\*)$/.exec(headers["content-range"] ?? "")?.[1];
  // Several ranges in one answer, or a range nobody can read: not what was asked for.
  if (start === undefined) return { kind: "failure", status: 206 };
  return {
    kind: "part",
    start: Number(start),
    total: totalOf(headers, /\/(\d+)$/),
    validator: validatorOf(headers),
  };
}

function totalOf(headers: HeaderValues, form: RegExp): number | undefined {
  const total = form.exec(headers["content-range"] ?? "")?.[1];
  return total === undefined ? undefined : Number(total);
}

function lengthOf(headers: HeaderValues): number | undefined {
  const length = headers["content-length"];
  return length !== undefined && /^\d+$/.test(length) ? Number(length) : undefined;
}

/** A weak ETag promises the same meaning, not the same bytes, so it is passed over. */
function validatorOf(headers: HeaderValues): string | undefined {
  const etag = headers["etag"];
  return etag?.startsWith('"') === true ? etag : headers["last-modified"];
}
