import { createHash } from "node:crypto";
import { makeZip } from "./zip-writer.ts";

/** A small package of Python, a stand-in for an engine: real files in the real form, with a program that says what it is. */
export interface SmallPackage {
  readonly project: string;
  readonly version: string;
  /** Such as "helper==1.0". */
  readonly requires?: readonly string[];
  readonly requiresPython?: string;
  /** Body of the function that its program runs, in Python; left out: it has no program. */
  readonly main?: string;
  /** Bytes of data that cannot be compressed, so that fetching it takes a while. */
  readonly ballast?: number;
  /** Of the file's name, such as "cp27-cp27mu-linux_x86_64". Default "py3-none-any". */
  readonly tag?: string;
}

export interface SmallWheel {
  readonly name: string;
  readonly data: Buffer;
  readonly requiresPython?: string;
}

export function makeWheel(of: SmallPackage): SmallWheel {
  const { project, version, tag = "py3-none-any" } = of;
  const module = project.replaceAll("-", "_");
  const info = `${module}-${version}.dist-info`;
  const files = new Map<string, Buffer>([
    [`${module}/__init__.py`, Buffer.from(`__version__ = "${version}"\n`)],
    [`${info}/METADATA`, Buffer.from(metadataOf(of))],
    [`${info}/WHEEL`, Buffer.from(`Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: ${tag}\n`)],
  ]);
  if (of.main !== undefined) {
    const body = of.main.replaceAll("\n", "\n    ");
    files.set(`${module}/program.py`, Buffer.from(`import sys\nimport ${module}\n\ndef main():\n    ${body}\n`));
    files.set(`${info}/entry_points.txt`, Buffer.from(`[console_scripts]\n${project} = ${module}.program:main\n`));
  }
  if (of.ballast !== undefined) files.set(`${module}/ballast.bin`, noise(of.ballast));
  const record = `${[...files].map(([name, data]) => `${name},sha256=${hash(data)},${String(data.length)}`).join("\n")}\n${info}/RECORD,,\n`;
  files.set(`${info}/RECORD`, Buffer.from(record));
  const data = makeZip([...files].map(([name, content]) => ({ name, data: content })));
  const { requiresPython } = of;
  return { name: `${module}-${version}-${tag}.whl`, data, ...(requiresPython === undefined ? {} : { requiresPython }) };
}

const metadataOf = ({ project, version, requires = [], requiresPython }: SmallPackage): string =>
  [
    "Metadata-Version: 2.1",
    `Name: ${project}`,
    `Version: ${version}`,
    ...(requiresPython === undefined ? [] : [`Requires-Python: ${requiresPython}`]),
    ...requires.map((one) => `Requires-Dist: ${one}`),
    "",
  ].join("\n");

const hash = (data: Buffer): string => createHash("sha256").update(data).digest("base64url");

/** The same at every run. */
function noise(bytes: number): Buffer {
  const blocks = Array.from({ length: Math.ceil(bytes / 32) }, (_, i) =>
    createHash("sha256").update(String(i)).digest(),
  );
  return Buffer.concat(blocks).subarray(0, bytes);
}
