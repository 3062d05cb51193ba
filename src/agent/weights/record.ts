import { countOf, fieldsOf, parseJson } from "../../wire/json-value.ts";
import type { RemoteFile } from "./offer.ts";

export interface HeldFile {
  readonly name: string;
  readonly bytes: number;
  /** Hex, of what was fetched. */
  readonly sha256: string;
}

/** A model that was made whole in the folder. */
export interface RecordedModel {
  /** As the profile has it. */
  readonly source: string;
  /** "" when the engine is pointed at the folder. */
  readonly main: string;
  readonly files: readonly string[];
}

/**
 * What a folder of weights says of itself: what its source offers, what of it was fetched and checked, and which models
 * were made whole. It is a claim: whether the files are there is looked up on the disk each time.
 */
export interface WeightRecord {
  /** What a source must be, apart from the file it names, to be served from this folder. */
  readonly identities: readonly string[];
  readonly offered: readonly RemoteFile[];
  readonly held: readonly HeldFile[];
  readonly models: readonly RecordedModel[];
}

/** Hidden, so that no engine reads it as part of the model. */
export const RECORD_NAME = ".llmgw.json";

const VERSION = 1;

export const emptyRecord: WeightRecord = { identities: [], offered: [], held: [], models: [] };

export const formatRecord = (record: WeightRecord): string =>
  `${JSON.stringify({ version: VERSION, ...record }, null, 2)}\n`;

/** Undefined when the text is no record of this version: then nothing in the folder is believed. */
export function parseRecord(text: string): WeightRecord | undefined {
  const raw = fieldsOf(parseJson(text));
  if (raw["version"] !== VERSION) return undefined;
  const identities = listOf(raw["identities"], asText);
  const offered = listOf(raw["offered"], asRemoteFile);
  const held = listOf(raw["held"], asHeldFile);
  const models = listOf(raw["models"], asModel);
  if (identities === undefined || offered === undefined || held === undefined || models === undefined) return undefined;
  return { identities, offered, held, models };
}

/** The record with a later file or model of the same name in place of the earlier one. */
export function withHeld(record: WeightRecord, file: HeldFile): WeightRecord {
  return { ...record, held: [...record.held.filter(({ name }) => name !== file.name), file] };
}

export function withModel(record: WeightRecord, model: RecordedModel): WeightRecord {
  const others = record.models.filter(({ source, main }) => source !== model.source || main !== model.main);
  return { ...record, models: [...others, model] };
}

const asText = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);

function listOf<T>(value: unknown, read: (item: unknown) => T | undefined): readonly T[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const items = value.map(read);
  const known = items.filter((item) => item !== undefined);
  return known.length === items.length ? known : undefined;
}

function asRemoteFile(value: unknown): RemoteFile | undefined {
  const raw = fieldsOf(value);
  const [name, size] = [asText(raw["name"]), countOf(raw["bytes"])];
  return name === undefined || size === undefined ? undefined : { name, bytes: size, sha256: asText(raw["sha256"]) };
}

function asHeldFile(value: unknown): HeldFile | undefined {
  const file = asRemoteFile(value);
  return file?.sha256 === undefined ? undefined : { name: file.name, bytes: file.bytes, sha256: file.sha256 };
}

function asModel(value: unknown): RecordedModel | undefined {
  const raw = fieldsOf(value);
  const [source, main, files] = [asText(raw["source"]), asText(raw["main"]), listOf(raw["files"], asText)];
  return source === undefined || main === undefined || files === undefined ? undefined : { source, main, files };
}
