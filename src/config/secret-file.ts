import { err, ok } from "../core/result.ts";
import { type Leaf, leaf } from "./fields.ts";

const PREFIX = "file:";

/** A secret that only its reader's machine knows. What is written instead of a file's name may be the secret: it is not said back. */
export const secretFile = (): Leaf<string> =>
  leaf({ type: "file:/path", phrase: "file: and an absolute path", takes: ["string"] }, (raw) => {
    const text = String(raw);
    if (!text.startsWith(PREFIX)) {
      return err("must name a file as file:/path: a secret in a manifest would be kept and shown with it");
    }
    const path = secretFilePath(text);
    const fits = path.startsWith("/") && !/[\u0000-\u001f\u007f]/.test(path);
    return fits ? ok(text) : err(`must name a file by its absolute path, such as file:/etc/llmgw/key`);
  });

export const secretFilePath = (written: string): string => written.slice(PREFIX.length);
