import type { Call, OptionSpec } from "../command.ts";
import { readNamedFile } from "../named-file.ts";

/** Every verb that sends requests as a client does takes these. */
export const ROUTER_OPTIONS: readonly OptionSpec[] = [
  {
    flags: "--key-file <file>",
    doc: "a file that holds a client's key, where the router asks for one (else LLMGW_API_KEY)",
  },
  { flags: "--router <url>", doc: "ask this router instead of the control plane's own" },
];

/** The client's key; undefined: none was given. Never on the command line: everybody on the machine sees that. */
export async function clientKey({ flags, io }: Call): Promise<string | undefined> {
  const file = flags.text("key-file");
  if (file === undefined) return io.env["LLMGW_API_KEY"] || undefined;
  return (await readNamedFile(file, "the key")).trim();
}
