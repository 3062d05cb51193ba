import { dirname, join, resolve } from "node:path";
import { type TokenText, writeToken } from "../../core/access-token.ts";
import { LlmgwError } from "../../core/errors.ts";
import { isMissing } from "../../platform/file-rights.ts";
import { readTextIfThere, writeFileAtomic } from "../../platform/files.ts";
import type { Enrolled } from "../../run/enrol.ts";
import { type Place, xdgConfigFolder } from "../../run/paths.ts";

/** Where a node has its configuration, and what it names. */
export interface NodeFiles {
  readonly config: string;
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
  readonly token: string;
}

/** Beside the file that --config names; else below --data-dir, in root's /etc or in the user's own folder. */
export function filesFor(place: Place, config: string | undefined): NodeFiles {
  const named = config === undefined ? undefined : resolve(config);
  const dir = named === undefined ? usualFolder(place) : dirname(named);
  return {
    config: named ?? join(dir, "agent.yaml"),
    ca: join(dir, "ca.pem"),
    cert: join(dir, "agent.pem"),
    key: join(dir, "agent-key.pem"),
    token: join(dir, "join-token"),
  };
}

function usualFolder(place: Place): string {
  if (place.dataDir !== undefined) return place.dataDir;
  return place.isRoot ? "/etc/llmgw" : xdgConfigFolder(place);
}

/** Before the token is used: names every file that would be lost. */
export async function refuseOverwriting(files: NodeFiles): Promise<void> {
  const paths = [files.config, files.cert, files.key, files.token];
  const missing = await Promise.all(paths.map(isMissing));
  const there = paths.filter((_, index) => missing[index] !== true);
  if (there.length === 0) return;
  throw new LlmgwError(
    "CONFLICT",
    `This machine has a configuration already: ${there.join(", ")}. --force writes over it; -c FILE takes another folder.`,
  );
}

interface NewNode {
  readonly server: string;
  readonly node: string;
  readonly token: TokenText;
  /** PEM. */
  readonly key: string;
  readonly enrolled: Enrolled;
}

const FOR_OWNER = 0o600;

/** Writes them, the configuration last: one that is there names files that are there. Resolves with their paths. */
export async function writeNode(files: NodeFiles, node: NewNode): Promise<readonly string[]> {
  const { enrolled, key, token } = node;
  const written: string[] = [];
  const write = async (path: string, text: string, mode?: number): Promise<void> => {
    await writeFileAtomic(path, text, mode);
    written.push(path);
  };
  if (enrolled.kind === "token") {
    await write(files.token, `${writeToken({ ...token, pin: undefined })}\n`, FOR_OWNER);
    await write(files.config, configText(node, `join_token: ${quoted(`file:${files.token}`)}`));
    return written;
  }
  await write(files.key, key, FOR_OWNER);
  await write(files.cert, enrolled.certificate);
  const ca = enrolled.ca === undefined ? undefined : await writeAuthority(files, enrolled.ca, write);
  const authority = ca === undefined ? "" : `ca: ${quoted(ca)}, `;
  await write(
    files.config,
    configText(node, `tls: { ${authority}cert: ${quoted(files.cert)}, key: ${quoted(files.key)} }`),
  );
  return written;
}

/** On the control plane's own machine another ca.pem may be there, and be in use. */
async function writeAuthority(
  files: NodeFiles,
  text: string,
  write: (path: string, text: string) => Promise<void>,
): Promise<string> {
  const there = await readTextIfThere(files.ca);
  if (there === text) return files.ca;
  const path = there === undefined ? files.ca : join(dirname(files.ca), "agent-ca.pem");
  await write(path, text);
  return path;
}

const quoted = (text: string): string => JSON.stringify(text);

/** Every value in quotes: an id such as 0x10 or "on" would be something else without. */
const configText = ({ server, node }: NewNode, proof: string): string =>
  [
    "# Written by `llmgw agent join`. docs/reference/config.md lists every key.",
    `server: ${quoted(server)}`,
    `node_id: ${quoted(node)}`,
    proof,
    "",
  ].join("\n");
