import { err, ok, type Result } from "../core/result.ts";

/** More than any configuration needs, and little enough to check in a moment. */
const LARGEST = 4 * 1024 * 1024;

/** The text of a file as it lies on disk: UTF-8, with or without a byte-order mark, any line ending. */
export function decodeText(content: string | Uint8Array): Result<string, string> {
  if (content.length > LARGEST) return err("is larger than 4 MiB, which no configuration should be");
  const decoded = typeof content === "string" ? ok(content) : decodeBytes(content);
  if (!decoded.ok) return decoded;
  const text = decoded.value.replace(/^\uFEFF/, "").replaceAll(/\r\n?/g, "\n");
  return text.includes("\u0000") ? err("holds zero bytes: this is not a text file in UTF-8") : ok(text);
}

function decodeBytes(bytes: Uint8Array): Result<string, string> {
  if (isUtf16(bytes)) return err("is in UTF-16; save it as UTF-8");
  try {
    return ok(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch {
    return err("is not in UTF-8; save it as UTF-8");
  }
}

/** By its mark, or without one by the zero byte that every second byte of plain English then is. */
function isUtf16(bytes: Uint8Array): boolean {
  const [first, second] = bytes;
  if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)) return true;
  const zeros = [...bytes.subarray(0, 4)].map((byte) => (byte === 0 ? "0" : "x")).join("");
  return zeros === "x0x0" || zeros === "0x0x";
}
