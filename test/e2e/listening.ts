import { readdir, readFile, readlink } from "node:fs/promises";

const LISTENING = "0A";

export interface ListeningSocket {
  /** As the kernel writes it, in hexadecimal: 0100007F is 127.0.0.1. */
  readonly address: string;
  readonly port: number;
}

/** The TCP sockets that a process listens on. */
export async function listeningSockets(pid: number): Promise<readonly ListeningSocket[]> {
  const folder = `/proc/${String(pid)}/fd`;
  const links = await Promise.all((await readdir(folder)).map((fd) => readlink(`${folder}/${fd}`).catch(() => "")));
  const own = new Set(links.flatMap((link) => /^socket:\[(\d+)\]$/.exec(link)?.[1] ?? []));
  const tables = await Promise.all(["tcp", "tcp6"].map((name) => readFile(`/proc/net/${name}`, "utf8")));
  return tables.flatMap((table) =>
    table.split("\n").flatMap((line) => {
      const [, local = "", , state, , , , , , inode = ""] = line.trim().split(/\s+/);
      const [address = "", port = ""] = local.split(":");
      return state === LISTENING && own.has(inode) ? [{ address, port: parseInt(port, 16) }] : [];
    }),
  );
}

/** The process and all that it started, and they in turn. */
export async function familyOf(pid: number): Promise<readonly number[]> {
  const tasks = await readdir(`/proc/${String(pid)}/task`).catch(() => []);
  const texts = await Promise.all(
    tasks.map((task) => readFile(`/proc/${String(pid)}/task/${task}/children`, "utf8").catch(() => "")),
  );
  const children = texts.flatMap((text) => text.trim().split(/\s+/)).filter((text) => text !== "");
  const families = await Promise.all(children.map((child) => familyOf(Number(child))));
  return [pid, ...families.flat()];
}
