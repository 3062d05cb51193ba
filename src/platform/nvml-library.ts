import koffi, { type LibraryHandle } from "koffi";
import { messageOf } from "../core/errors.ts";
import { err, ok, type Result } from "../core/result.ts";

/** A number travels as an unsigned int; a handle or a buffer as a pointer. */
type Argument = number | bigint | Buffer;

/** Ends with the code of the call. Never throws: a function that this version of the library lacks is a code too. */
export type NvmlCall = (name: string, ...args: readonly Argument[]) => number;

const FUNCTION_NOT_FOUND = 13;

/** The error says why the library cannot be loaded. */
export function openNvml(path: string): Result<NvmlCall, string> {
  try {
    const library = koffi.load(path);
    const functions = new Map<string, ((...args: readonly Argument[]) => unknown) | undefined>();
    return ok((name, ...args) => {
      if (!functions.has(name)) functions.set(name, bind(library, name, args));
      const call = functions.get(name);
      return call === undefined ? FUNCTION_NOT_FOUND : Number(call(...args));
    });
  } catch (error) {
    return err(`${path}: ${messageOf(error).replace("Failed to load shared library: ", "")}`);
  }
}

function bind(library: LibraryHandle, name: string, args: readonly Argument[]) {
  try {
    const types = args.map((arg) => (typeof arg === "number" ? "uint32_t" : "void *"));
    return library.func(name, "int", types);
  } catch {
    return undefined;
  }
}
