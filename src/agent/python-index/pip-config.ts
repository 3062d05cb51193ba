import { join } from "node:path";

type Env = Readonly<Record<string, string | undefined>>;

export interface PipSettings {
  readonly indexUrl: string | undefined;
  readonly extraIndexUrls: readonly string[];
}

/** pip's own files in the order in which it reads them; what a later one says wins. */
export function pipFiles(env: Env): readonly string[] {
  const named = env["PIP_CONFIG_FILE"];
  // pip's way of saying "read none".
  if (named === "/dev/null") return [];
  const home = env["HOME"];
  const configHome = env["XDG_CONFIG_HOME"] ?? (home === undefined ? undefined : join(home, ".config"));
  return [
    ...(env["XDG_CONFIG_DIRS"] ?? "/etc/xdg")
      .split(":")
      .filter((folder) => folder !== "")
      .map((folder) => join(folder, "pip", "pip.conf")),
    "/etc/pip.conf",
    ...(home === undefined ? [] : [join(home, ".pip", "pip.conf")]),
    ...(configHome === undefined ? [] : [join(configHome, "pip", "pip.conf")]),
    ...(env["VIRTUAL_ENV"] === undefined ? [] : [join(env["VIRTUAL_ENV"], "pip.conf")]),
    ...(named === undefined || named === "" ? [] : [named]),
  ];
}

/** What one of pip's files says of indexes; the sections of the commands that download win over the global one. */
export function parsePipConfig(text: string): PipSettings {
  const sections = parseIni(text);
  const value = (name: string): string | undefined =>
    ["install", "download", "global"]
      .map((section) => sections.get(section)?.get(name))
      .find((found) => found !== undefined);
  return { indexUrl: value("index-url"), extraIndexUrls: words(value("extra-index-url")) };
}

type IniLine =
  | { readonly kind: "section"; readonly name: string }
  | { readonly kind: "value"; readonly name: string; readonly value: string }
  | { readonly kind: "more"; readonly value: string }
  | { readonly kind: "nothing" };

function readLine(line: string): IniLine {
  if (/^\s*([#;]|$)/.test(line)) return { kind: "nothing" };
  // A value goes on in lines that are indented.
  if (/^\s/.test(line)) return { kind: "more", value: line.trim() };
  const [, section] = /^\[([^\]]+)\]/.exec(line) ?? [];
  if (section !== undefined) return { kind: "section", name: section.trim() };
  const [, name, value = ""] = /^([^=:]+?)\s*[=:]\s*(.*)$/.exec(line) ?? [];
  if (name === undefined) return { kind: "nothing" };
  return { kind: "value", name: name.toLowerCase().replaceAll("_", "-"), value: value.trim() };
}

function parseIni(text: string): ReadonlyMap<string, ReadonlyMap<string, string>> {
  const sections = new Map<string, Map<string, string>>();
  let section = new Map<string, string>();
  let last = "";
  for (const line of text.split(/\r?\n/).map(readLine)) {
    if (line.kind === "section") {
      section = sections.get(line.name) ?? new Map<string, string>();
      sections.set(line.name, section);
    } else if (line.kind === "value") {
      last = line.name;
      section.set(last, line.value);
    } else if (line.kind === "more") {
      section.set(last, `${section.get(last) ?? ""} ${line.value}`.trim());
    }
  }
  return sections;
}

const words = (text: string | undefined): readonly string[] => (text ?? "").split(/\s+/).filter((word) => word !== "");

const DEFAULT_INDEX = "https://pypi.org/simple";

/** The indexes that pip would ask, the main one first: environment before files, a later file before an earlier. */
export function indexUrls(env: Env, files: readonly PipSettings[]): readonly string[] {
  const fromFiles = files.findLast(({ indexUrl }) => indexUrl !== undefined && indexUrl !== "")?.indexUrl;
  const extraFromFiles = files.findLast(({ extraIndexUrls }) => extraIndexUrls.length > 0)?.extraIndexUrls ?? [];
  const extraFromEnv = words(env["PIP_EXTRA_INDEX_URL"]);
  const fromEnv = env["PIP_INDEX_URL"]?.trim();
  const main = fromEnv === undefined || fromEnv === "" ? (fromFiles ?? DEFAULT_INDEX) : fromEnv;
  const all = [main, ...(extraFromEnv.length > 0 ? extraFromEnv : extraFromFiles)];
  return [...new Set(all.map((url) => url.replace(/\/+$/, "")))];
}
