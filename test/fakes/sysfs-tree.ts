import { mkdir, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

/** Folders and files as the kernel shows devices: a text is a file, an object a folder, and `-> path` a link. */
export interface Tree {
  readonly [name: string]: string | Uint8Array | Tree;
}

export async function makeTree(folder: string, tree: Tree): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const [name, content] of Object.entries(tree)) {
    const path = join(folder, name);
    if (typeof content === "string" && content.startsWith("-> ")) {
      await mkdir(dirname(path), { recursive: true });
      await symlink(content.slice(3), path);
    } else if (typeof content === "string" || content instanceof Uint8Array) {
      await writeFile(path, content);
    } else {
      await makeTree(path, content);
    }
  }
}

/** One port of an InfiniBand adapter that is well. */
export const port = (more: Tree = {}): Tree => ({
  state: "4: ACTIVE\n",
  phys_state: "5: LinkUp\n",
  rate: "400 Gb/sec (4X NDR)\n",
  link_layer: "InfiniBand\n",
  lid: "0x7\n",
  gids: { "0": "fe80:0000:0000:0000:0c42:a103:0075:6abc\n", "1": "0000:0000:0000:0000:0000:0000:0000:0000\n" },
  ...more,
});

/** An adapter's folder and the PCI device behind it, as links between real places. */
export async function makeAdapter(
  root: string,
  name: string,
  { ports = { "1": port() }, pci = "0000:1b:00.0", numa = "0\n" }: { ports?: Tree; pci?: string; numa?: string } = {},
): Promise<void> {
  const real = join(root, "devices", pci, "infiniband", name);
  await makeTree(join(root, "devices", pci), { numa_node: numa });
  await makeTree(real, { ports, node_type: "1: CA\n", device: `-> ../../../${pci}` });
  await makeTree(join(root, "class", "infiniband"), { [name]: `-> ../../devices/${pci}/infiniband/${name}` });
}
