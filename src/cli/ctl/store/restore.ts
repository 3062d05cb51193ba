import { parseServerConfig, renderServerConfig, type ServerConfig } from "../../../config/server.ts";
import { LlmgwError } from "../../../core/errors.ts";
import { systemClock } from "../../../platform/clock.ts";
import { pathsFor } from "../../../run/paths.ts";
import { contentsInWords, restoreStore } from "../../../run/store-files.ts";
import type { Call, CommandSpec } from "../../command.ts";
import { CONFIG, DATA_DIR, OUTPUT_PAGE } from "../../options.ts";
import { placeOf } from "../../place.ts";
import { requireConfig } from "../../role-config.ts";
import { storeOf } from "../../store-place.ts";
import { isDocument, outputOf, printDocument } from "../output.ts";

export const restore: CommandSpec = {
  name: "restore",
  summary: "put a backup in the place of the control plane's store",
  details:
    "On the control plane's machine, while it does not run. The backup is read and checked before and after. A store that holds something is put aside only with --force, and stays beside the new one. Where the store is: --config names a server.yaml with another place than the usual one, --data-dir as it was given to `llmgw server` or `llmgw up`.",
  arguments: [{ form: "<file>", doc: "what `llmgw ctl backup` wrote" }],
  options: [
    { flags: CONFIG.flags, doc: "the control plane's configuration, for its store" },
    DATA_DIR,
    { flags: "--force", doc: "put a store aside that holds something" },
    OUTPUT_PAGE,
  ],
  examples: [
    { line: "llmgw ctl restore llmgw-2026-01-31.db", doc: "into the usual place" },
    { line: "llmgw ctl restore llmgw.db -c server.yaml --force", doc: "instead of what is there" },
  ],
  run: async (call) => {
    const store = await storeFile(call);
    const restored = await restoreStore({
      from: call.args[0] ?? "",
      store,
      dataDir: pathsFor(placeOf(call)).serverDir,
      force: call.flags.given("force"),
      now: systemClock.now(),
    });
    const output = outputOf(call);
    if (isDocument(output)) printDocument(call, output, { store, ...restored });
    else {
      call.io.stdout.write(`${store} holds ${contentsInWords(restored.contents)}\n`);
      if (restored.before !== undefined) call.io.stderr.write(`What was there is in ${restored.before}.\n`);
    }
    return 0;
  },
};

async function storeFile(call: Call): Promise<string> {
  const config: Pick<ServerConfig, "store"> | undefined =
    call.flags.text("config") === undefined
      ? undefined
      : await requireConfig(call, { parse: parseServerConfig, render: renderServerConfig });
  const store = storeOf(placeOf(call), config?.store);
  if (store.kind === "sqlite") return store.path;
  throw new LlmgwError("BAD_REQUEST", "The store is PostgreSQL: bring its copy back with pg_restore.");
}
