import { readdir, readFile, readlink } from "node:fs/promises";

const LISTENING = "0A";

/** The inodes of the sockets that listen on the port, in a text of /proc/net/tcp or tcp6. */
export function listeningInodes(table: string, port: number): readonly string[] {
  return table.split("\n").flatMap((line) => {
    const [, local, , state, , , , , , inode] = line.trim().split(/\s+/);
    const isIt = state === LISTENING && parseInt(local?.split(":").at(-1) ?? "", 16) === port;
    return isIt && inode !== undefined ? [inode] : [];
  });
}

/**
 * Whose sockets listen on the port: one of the processes', only others', or nobody's. "unknown" where /proc does not tell, as of
 * another user's processes.
 */
export async function portOwner(
  port: number,
  pids: readonly number[],
): Promise<"theirs" | "others" | "nobody" | "unknown"> {
  try {
    const tables = await Promise.all(
      ["tcp", "tcp6"].map((name) => readFile(`/proc/net/${name}`, "utf8").catch(() => "")),
    );
    if (tables.join("") === "") return "unknown";
    const inodes = new Set(tables.flatMap((table) => listeningInodes(table, port)));
    if (inodes.size === 0) return "nobody";
    const held = (await Promise.all(pids.map(socketsOf))).flat();
    return held.some((inode) => inodes.has(inode)) ? "theirs" : "others";
  } catch {
    return "unknown";
  }
}

async function socketsOf(pid: number): Promise<readonly string[]> {
  const folder = `/proc/${String(pid)}/fd`;
  const links = await Promise.all((await readdir(folder)).map((fd) => readlink(`${folder}/${fd}`).catch(() => "")));
  return links.flatMap((link) => /^socket:\[(\d+)\]$/.exec(link)?.[1] ?? []);
}
