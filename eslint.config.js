import tseslint from "typescript-eslint";
import { LAYERS, MACHINE_MODULES, PURE_GLOBALS } from "./scripts/layers.js";

const folders = LAYERS.map((layer) => layer.folder);
const machine = MACHINE_MODULES.flatMap((name) => [`node:${name}`, name]);

/** What a folder may not import, each with the sentence a person needs. */
function restrictions(layer) {
  const forbidden = folders.filter((other) => other !== layer.folder && !layer.imports.includes(other));
  const patterns = [];
  if (forbidden.length > 0) {
    patterns.push({
      regex: `^(\\.\\./)+(${forbidden.join("|")})/`,
      message: `src/${layer.folder} may import only: ${layer.imports.join(", ") || "nothing of ours"} (scripts/layers.js).`,
    });
  }
  const allowed = layer.packages.map((name) => name.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&"));
  const freeNode = layer.pure ? [] : ["node:"];
  const outside = [...allowed, ...freeNode].map((name) => (name.endsWith(":") ? name : `${name}(/|$)`));
  patterns.push({
    regex: `^(?!\\.)${outside.length > 0 ? `(?!${outside.join("|")})` : ""}`,
    message: `src/${layer.folder} may use only these packages: ${layer.packages.join(", ") || "none"} (scripts/layers.js).`,
  });
  const paths =
    layer.folder === "platform"
      ? []
      : machine.map((name) => ({ name, message: "Only src/platform touches the machine." }));
  return { patterns, paths };
}

function rulesOf(layer) {
  const rules = { "no-restricted-imports": ["error", restrictions(layer)] };
  if (layer.pure) {
    rules["no-restricted-globals"] = [
      "error",
      ...PURE_GLOBALS.map((name) => ({ name, message: `src/${layer.folder} is pure: pass it in.` })),
    ];
    rules["no-restricted-properties"] = [
      "error",
      { object: "Date", property: "now", message: "Pure: pass `now` in." },
      { object: "Math", property: "random", message: "Pure: pass `random` in." },
    ];
  }
  return { files: [`src/${layer.folder}/**/*.ts`], ignores: ["**/*.test.ts"], rules };
}

export default tseslint.config(
  { ignores: ["node_modules", "src/wire/gen", "dist", "coverage", "test/.cache"] },
  ...tseslint.configs.strictTypeChecked,
  {
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      "@typescript-eslint/switch-exhaustiveness-check": "error",
      "@typescript-eslint/consistent-type-imports": ["error", { fixStyle: "inline-type-imports" }],
      "@typescript-eslint/no-explicit-any": "error",
      "@typescript-eslint/no-non-null-assertion": "error",
      "@typescript-eslint/ban-ts-comment": ["error", { "ts-expect-error": "allow-with-description" }],
      "max-params": ["error", 3],
      "max-lines": ["error", { max: 400 }],
      "max-lines-per-function": ["error", { max: 60, skipBlankLines: true, skipComments: true }],
      complexity: ["error", 10],
      "no-console": "error",
      eqeqeq: "error",
    },
  },
  { files: ["**/*.js", "**/*.mjs"], extends: [tseslint.configs.disableTypeChecked] },
  { files: ["src/cli/**/*.ts", "scripts/**", "bench/**"], rules: { "no-console": "off" } },
  ...LAYERS.map(rulesOf),
  {
    // A table of cases is one long function, and that is its virtue.
    files: ["**/*.test.ts", "test/**/*.ts", "bench/**/*.ts"],
    // Tests print their seeds, and why one is skipped.
    rules: { "max-lines-per-function": "off", "max-params": "off", "no-console": "off" },
  },
);
