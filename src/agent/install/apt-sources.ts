export interface AptSource {
  readonly uri: string;
  readonly suites: readonly string[];
  readonly components: readonly string[];
  /** Undefined: the machine's trusted keys. */
  readonly signedBy: string | undefined;
}

/** A file of the form that ends in .sources: paragraphs of fields. */
export function readDeb822(text: string): readonly AptSource[] {
  return text.split(/\n\s*\n/).flatMap((paragraph) => {
    const fields = fieldsOf(paragraph);
    const isOff = fields.get("enabled")?.toLowerCase() === "no";
    if (isOff || !words(fields.get("types")).includes("deb")) return [];
    const signedBy = fields.get("signed-by");
    return words(fields.get("uris")).map((uri) => ({
      uri,
      suites: words(fields.get("suites")),
      components: words(fields.get("components")),
      // Otherwise it is the key itself, and not the name of its file.
      signedBy: signedBy?.startsWith("/") === true ? signedBy : undefined,
    }));
  });
}

function fieldsOf(paragraph: string): ReadonlyMap<string, string> {
  const lines = paragraph.split("\n").filter((line) => !line.startsWith("#"));
  const joined = lines.join("\n").replaceAll(/\n[ \t]+/g, " ");
  const pairs = joined.split("\n").flatMap((line) => {
    const [, name, value] = /^([\w-]+):\s*(.*)$/.exec(line) ?? [];
    return name === undefined || value === undefined ? [] : [[name.toLowerCase(), value.trim()] as const];
  });
  return new Map(pairs);
}

/** A file of the older form, as sources.list and what ends in .list: one source a line. */
export function readOneLine(text: string): readonly AptSource[] {
  return text.split("\n").flatMap((line) => {
    const [, options = "", uri, suite, components = ""] =
      /^\s*deb\s+(?:\[([^\]]*)\]\s+)?(\S+)\s+(\S+)\s*([^#]*)/.exec(line) ?? [];
    if (uri === undefined || suite === undefined) return [];
    const [, signedBy] = /(?:^|\s)signed-by=(\S+)/.exec(options) ?? [];
    return [{ uri, suites: [suite], components: words(components), signedBy }];
  });
}

const words = (text: string | undefined): readonly string[] => (text ?? "").split(/\s+/).filter((word) => word !== "");

/**
 * The source that this Debian takes its own release from: its mirror carries the other releases too. Not one of security
 * updates or backports, and no disc.
 */
export function debianMirror(sources: readonly AptSource[], codename: string): AptSource | undefined {
  const releases = [codename, "stable", "oldstable", "testing", "unstable", "sid"];
  return sources.find(
    ({ uri, suites, components }) =>
      suites.some((suite) => releases.includes(suite)) && components.includes("main") && !uri.startsWith("cdrom:"),
  );
}

/** ID and VERSION_CODENAME in the text of /etc/os-release. */
export function readOsRelease(text: string): { readonly id: string; readonly codename: string } {
  const field = (name: string): string => new RegExp(`^${name}="?([^"\\n]*)"?$`, "m").exec(text)?.[1] ?? "";
  return { id: field("ID"), codename: field("VERSION_CODENAME") };
}
