import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

/** How the program in an archive behaves. */
export interface FakeEngine {
  /** Such as b11669. */
  readonly version: string;
  /** Sees GPUs when this file is beside it. */
  readonly devicesWith?: string;
  /** Shell commands that it runs instead of everything else. */
  readonly script?: string;
  /** Its path in the archive. */
  readonly path?: string;
  /** More files: content, or where a link leads. */
  readonly files?: Readonly<Record<string, string | { readonly linkTo: string } | { readonly copyOf: string }>>;
}

export interface Archive {
  readonly bytes: Buffer;
  readonly sha256: string;
}

/** A real tar.gz with a program that answers as llama-server does: version, devices, health, and a token for who has the key. */
export async function engineArchive(engine: FakeEngine): Promise<Archive> {
  const path = engine.path ?? `llama-${engine.version}/llama-server`;
  const program = { [path]: engine.script === undefined ? serverProgram(engine) : `#!/bin/sh\n${engine.script}\n` };
  return await packArchive({ ...program, ...engine.files }, [path]);
}

export async function packArchive(
  files: NonNullable<FakeEngine["files"]>,
  executables: readonly string[] = [],
): Promise<Archive> {
  const folder = await mkdtemp(join(tmpdir(), "llmgw-archive-"));
  try {
    for (const [name, content] of Object.entries(files)) {
      const at = join(folder, "content", name);
      await mkdir(dirname(at), { recursive: true });
      if (typeof content === "string")
        await writeFile(at, content, { mode: executables.includes(name) ? 0o755 : 0o644 });
      else if ("linkTo" in content) await symlink(content.linkTo, at);
      else await cp(content.copyOf, at);
    }
    const target = join(folder, "archive.tar.gz");
    execFileSync("tar", ["-czf", target, "-C", join(folder, "content"), "."]);
    const bytes = await readFile(target);
    return { bytes, sha256: createHash("sha256").update(bytes).digest("hex") };
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** In CommonJS, since a file without an ending and without a package.json is that. */
const serverProgram = ({ version, devicesWith }: FakeEngine): string => `#!${process.execPath}
const { existsSync } = require("node:fs");
const { createServer } = require("node:http");
const { join } = require("node:path");
const has = (flag) => process.argv.includes(flag);
const after = (flag) => process.argv[process.argv.indexOf(flag) + 1];
if (has("--version")) {
  console.error("version: 0.7.0 (build ${version.slice(1)}, commit fake)");
  process.exit(0);
}
const sees = existsSync(join(__dirname, ${JSON.stringify(devicesWith ?? "nothing")}));
if (has("--list-devices")) {
  console.log("Available devices:");
  console.log(sees ? "  CUDA0: Fake GPU (1 MiB, 1 MiB free)" : "  (none)");
  process.exit(0);
}
if (after("--device").startsWith("CUDA") && !sees) {
  console.error('error while handling argument "--device": invalid device: CUDA0');
  process.exit(1);
}
createServer((request, response) => {
  const open = request.url === "/health" || request.headers.authorization === "Bearer " + process.env.LLAMA_API_KEY;
  response.statusCode = open ? 200 : 401;
  response.end(open ? '{"choices":[{"text":"x"}]}' : "{}");
}).listen(Number(after("--port")), after("--host"));
`;
