import type { Millis } from "../../../core/ids.ts";
import type { SharedFile } from "../../../core/sharing.ts";
import { countOf, fieldsOf, listOf, parseJson, textOf } from "../../../wire/json-value.ts";

/** What is remembered of the slow re-reading of all files, so that a restart goes on where it was. */
export interface ScrubState {
  /** When each file was last seen to be right, by key; wall clock. */
  readonly checked: Readonly<Record<string, number>>;
  /** The file that is being read, and the first piece of it that has not been. */
  readonly current: { readonly key: string; readonly sha256: string; readonly piece: number } | undefined;
  /** Files that were put aside and are not here again yet. */
  readonly wrong: readonly string[];
}

const VERSION = 1;

export const emptyScrub: ScrubState = { checked: {}, current: undefined, wrong: [] };

export const formatScrub = (state: ScrubState): string => `${JSON.stringify({ version: VERSION, ...state })}\n`;

/** A text that is none of this version is as good as nothing: then everything is read again in its time. */
export function parseScrub(text: string): ScrubState {
  const raw = fieldsOf(parseJson(text));
  if (raw["version"] !== VERSION) return emptyScrub;
  const checked = Object.entries(fieldsOf(raw["checked"])).flatMap(([key, at]) => {
    const time = countOf(at);
    return time === undefined ? [] : [[key, time] as const];
  });
  const current = fieldsOf(raw["current"]);
  const piece = countOf(current["piece"]);
  const [key, sha256] = [textOf(current["key"]), textOf(current["sha256"])];
  return {
    checked: Object.fromEntries(checked),
    current: key === "" || sha256 === "" || piece === undefined ? undefined : { key, sha256, piece },
    wrong: listOf(raw["wrong"]).filter((one) => typeof one === "string"),
  };
}

/** Only files that are still held, with those that are new as if they were checked now: fetching has just done so. */
export function withHeldFiles(state: ScrubState, held: readonly SharedFile[], now: Millis): ScrubState {
  const checked = Object.fromEntries(held.map(({ key }) => [key, Math.min(now, state.checked[key] ?? now)]));
  const { current } = state;
  const isThere = held.some(({ key, sha256 }) => key === current?.key && sha256 === current.sha256);
  return { ...state, checked, current: isThere ? current : undefined };
}

export interface ScrubDue {
  readonly file: SharedFile;
  /** The first piece to read. */
  readonly piece: number;
}

/** What to read now: first what was begun, then what was longest not looked at. Undefined: everything was, within `every`. */
export function nextDue(
  state: ScrubState,
  held: readonly SharedFile[],
  { now, every }: { readonly now: Millis; readonly every: Millis },
): ScrubDue | undefined {
  const begun = held.find(({ key, sha256 }) => key === state.current?.key && sha256 === state.current.sha256);
  if (begun !== undefined) return { file: begun, piece: state.current?.piece ?? 0 };
  const [oldest] = held
    .map((file) => ({ file, at: state.checked[file.key] ?? 0 }))
    .filter(({ at }) => now - at >= every)
    .toSorted((a, b) => a.at - b.at || (a.file.key < b.file.key ? -1 : 1));
  return oldest === undefined ? undefined : { file: oldest.file, piece: 0 };
}
