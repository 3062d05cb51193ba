import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pages, withLayers } from "./reference-pages.ts";

/** Writes docs/reference and the table of layers in ARCHITECTURE.md from the code. */
const root = join(import.meta.dirname, "..");

for (const [path, content] of Object.entries(pages())) {
  const target = join(root, path);
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(target, content);
  console.log(path);
}
const architecture = join(root, "ARCHITECTURE.md");
writeFileSync(architecture, withLayers(readFileSync(architecture, "utf8")));
console.log("ARCHITECTURE.md");
