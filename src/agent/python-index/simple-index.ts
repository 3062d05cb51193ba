import { type Fields, fieldsOf, isList, parseJson } from "../../wire/json-value.ts";
import { parseWheelName, type WheelName } from "./wheel-name.ts";
import { compareVersions, isPrerelease, parseVersion, type WheelVersion } from "./wheel-version.ts";

/** What asks an index for its newer form and takes the older. */
export const INDEX_ACCEPT =
  "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1";

/** A file that an index offers for a project. */
export interface IndexFile {
  readonly name: string;
  readonly url: string;
  /** Hex; undefined when the index has none. */
  readonly sha256: string | undefined;
  /** 0 when the index does not say. */
  readonly bytes: number;
  readonly isYanked: boolean;
  /** The Pythons that it is for, such as ">=3.10"; undefined when the index does not say. */
  readonly requiresPython: string | undefined;
}

/** Names are the same whatever their case and whichever of -, _ and . they use. */
export const normalisedName = (project: string): string => project.toLowerCase().replace(/[-_.]+/g, "-");

/** Reads a project's page in either form; undefined when it is neither. `base` is the address it came from. */
export function parseIndexPage(body: string, contentType: string, base: string): readonly IndexFile[] | undefined {
  return /json/i.test(contentType) ? parseJsonPage(body, base) : parseHtmlPage(body, base);
}

function parseJsonPage(body: string, base: string): readonly IndexFile[] | undefined {
  const { files } = fieldsOf(parseJson(body));
  return isList(files) ? files.flatMap((file) => jsonFile(fieldsOf(file), base)) : undefined;
}

function jsonFile(file: Fields, base: string): readonly IndexFile[] {
  if (typeof file["filename"] !== "string" || typeof file["url"] !== "string") return [];
  const url = URL.parse(file["url"], base);
  if (url === null) return [];
  const sha256 = asSha256(fieldsOf(file["hashes"])["sha256"]);
  const bytes = typeof file["size"] === "number" ? file["size"] : 0;
  // A reason instead of "true" is as good.
  const isYanked = file["yanked"] === true || typeof file["yanked"] === "string";
  const requiresPython = typeof file["requires-python"] === "string" ? file["requires-python"] : undefined;
  return [{ name: file["filename"], url: withoutFragment(url), sha256, bytes, isYanked, requiresPython }];
}

const ANCHOR = /<a\s([^>]*)>([^<]*)<\/a>/gi;

function parseHtmlPage(body: string, base: string): readonly IndexFile[] | undefined {
  if (!/<(html|a)\b/i.test(body)) return undefined;
  const root = attribute(/<base\s([^>]*)>/i.exec(body)?.[1] ?? "", "href");
  const from = root === undefined ? base : (URL.parse(root, base)?.href ?? base);
  return [...body.matchAll(ANCHOR)].flatMap(([, attributes = "", text = ""]) => {
    const url = URL.parse(attribute(attributes, "href") ?? "", from);
    if (url === null) return [];
    return [
      {
        name: unescaped(text.trim()),
        url: withoutFragment(url),
        sha256: asSha256(/(?:^#|&)sha256=([0-9a-f]+)/i.exec(url.hash)?.[1]),
        bytes: 0,
        isYanked: /\bdata-yanked\b/i.test(attributes),
        requiresPython: attribute(attributes, "data-requires-python"),
      },
    ];
  });
}

function attribute(attributes: string, name: string): string | undefined {
  const [, double, single] = new RegExp(`\\b${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)')`, "i").exec(attributes) ?? [];
  const value = double ?? single;
  return value === undefined ? undefined : unescaped(value);
}

const ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'" };
const unescaped = (text: string): string =>
  text.replace(/&(amp|lt|gt|quot|#39);/g, (_, name: string) => ENTITIES[name] ?? "");

const withoutFragment = (url: URL): string => url.href.replace(/#.*$/s, "");

const asSha256 = (text: unknown): string | undefined =>
  typeof text === "string" && /^[0-9a-f]{64}$/i.test(text) ? text.toLowerCase() : undefined;

export interface Wheel extends IndexFile {
  readonly version: string;
}

/**
 * The wheel to take: of a pinned version, or of the newest that is final and not withdrawn (then of the newest
 * pre-release). Without `fits` only wheels for any platform count, since what is wanted of them is data.
 */
export function chooseWheel(
  files: readonly IndexFile[],
  project: string,
  { version: pinned, fits = isPortable }: { readonly version?: string | undefined; readonly fits?: WheelFits } = {},
): Wheel | undefined {
  const wheels = files.flatMap((file) => wheelOf(file, project, fits));
  const wanted = pinned === undefined ? undefined : parseVersion(pinned);
  if (pinned !== undefined && wanted === undefined) return undefined;
  const candidates = wheels.filter(({ parsed, wheel }) =>
    wanted === undefined ? !wheel.isYanked : compareVersions(parsed, wanted) === 0,
  );
  const final = candidates.filter(({ parsed }) => !isPrerelease(parsed));
  return newest(final) ?? newest(candidates);
}

interface Parsed {
  readonly wheel: Wheel;
  readonly parsed: WheelVersion;
}

const newest = (all: readonly Parsed[]): Wheel | undefined =>
  all.toSorted((a, b) => compareVersions(b.parsed, a.parsed))[0]?.wheel;

type WheelFits = (wheel: WheelName) => boolean;

const isPortable = ({ abis, platforms }: WheelName): boolean => abis.includes("none") && platforms.includes("any");

function wheelOf(file: IndexFile, project: string, fits: WheelFits): readonly Parsed[] {
  const name = parseWheelName(file.name);
  const parsed = parseVersion(name?.version ?? "");
  if (name === undefined || parsed === undefined || normalisedName(name.project) !== normalisedName(project)) return [];
  return fits(name) ? [{ wheel: { ...file, version: name.version }, parsed }] : [];
}
