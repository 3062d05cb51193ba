import { join } from "node:path";
import type { SharedFile } from "../../../core/sharing.ts";
import { pieceRange } from "../../../core/pieces.ts";
import { fileStamp } from "../../../platform/folders.ts";
import { foldersIn } from "../../../platform/found-files.ts";
import type { Downloader } from "../../../platform/fetch/download.ts";
import type { PieceNote } from "../../../platform/fetch/open-parts.ts";
import { hashPieces } from "../../../platform/hash-pieces.ts";
import { plainFileBytes, readPlainFile } from "../../../platform/plain-file.ts";
import type { RecordBook } from "../folder.ts";
import { isSafeName } from "../offer.ts";
import type { HeldFile, WeightRecord } from "../record.ts";
import { type Listing, LISTINGS, listingsOf } from "./listing.ts";
import { readPieceFile, writePieceFile } from "./piece-file.ts";

/** A file as it can be given to another node. */
export interface Shelved {
  readonly bytes: number;
  /** Of the whole, in hex; "" while it is on its way. */
  readonly sha256: string;
  /** Another one means that what was noted before is worth nothing. */
  readonly generation: string;
  /** Pieces that can be had, in the order in which they came. */
  readonly notes: readonly PieceNote[];
  /** Undefined when the bytes are not there any more. */
  read(index: number): Promise<Uint8Array | undefined>;
}

export interface ShelfOptions {
  /** The weights folder. Nothing outside it is given to anyone. */
  readonly dir: string;
  readonly records: RecordBook;
  readonly downloader: Pick<Downloader, "open">;
}

/** A key in its two parts; undefined for one that leads anywhere else than to a file in a folder of the weights folder. */
export function splitKey(key: string): { readonly folder: string; readonly name: string } | undefined {
  const slash = key.indexOf("/");
  const [folder, name] = [key.slice(0, Math.max(0, slash)), key.slice(slash + 1)];
  return folder !== "" && isSafeName(folder) && isSafeName(name) ? { folder, name } : undefined;
}

export const keyOf = (folder: string, name: string): string => `${folder}/${name}`;

/** Files whose hashes are kept in memory: each piece is asked for by itself. */
const MOST_KNOWN = 64;

interface Known {
  readonly stamp: string | undefined;
  readonly shelved: Shelved;
}

/** One of the weights folder. */
interface Folder {
  readonly name: string;
  readonly record: WeightRecord;
}

/** What of the weights folder can be given to others, and how. */
export class Shelf {
  readonly #options: ShelfOptions;
  readonly #known = new Map<string, Known>();
  /** A large file is read once for its hashes, however many ask for it. */
  readonly #reading = new Map<string, Promise<readonly string[] | undefined>>();

  constructor(options: ShelfOptions) {
    this.#options = options;
  }

  /** Every file that was fetched whole and still lies in the weights folder itself. */
  async held(): Promise<readonly SharedFile[]> {
    return await this.#heldIn(await this.#folders());
  }

  /** These, and what their sources offer besides. */
  async offered(): Promise<readonly SharedFile[]> {
    const folders = await this.#folders();
    const listings = listingsIn(folders).map(({ key, data, sha256 }) => ({ key, bytes: data.length, sha256 }));
    return [...(await this.#heldIn(folders)), ...listings];
  }

  /** wrong: it lies there, but its bytes are not those that were fetched. */
  async find(key: string): Promise<Shelved | "none" | "wrong"> {
    if (key.startsWith(`${LISTINGS}/`)) return await this.#listing(key);
    const parts = splitKey(key);
    if (parts === undefined) return "none";
    const { dir, records, downloader } = this.#options;
    const { folder, name } = parts;
    const path = join(dir, folder, name);
    const stamp = await fileStamp(path);
    const before = this.#known.get(key);
    if (before !== undefined && before.stamp === stamp && (await this.#isPlain(key, before.shelved)))
      return before.shelved;
    this.#known.delete(key);
    const held = (await records.read(join(dir, folder)))?.held.find((file) => file.name === name);
    if (held === undefined || !(await isThere(dir, folder, held))) return onItsWay(downloader, path);
    const whole = await this.#shelved(path, held);
    if (whole !== "wrong") this.#remember(key, { stamp, shelved: whole });
    return whole;
  }

  async #listing(key: string): Promise<Shelved | "none"> {
    const listing = listingsIn(await this.#folders()).find((one) => one.key === key);
    return listing === undefined ? "none" : inMemory(listing);
  }

  /** Those that have a record. */
  async #folders(): Promise<readonly Folder[]> {
    const { dir, records } = this.#options;
    const found = await Promise.all(
      (await foldersIn(dir)).map(async (name) => ({ name, record: await records.read(join(dir, name)) })),
    );
    return found.flatMap(({ name, record }) => (record === undefined ? [] : [{ name, record }]));
  }

  async #heldIn(folders: readonly Folder[]): Promise<readonly SharedFile[]> {
    const { dir } = this.#options;
    const files = folders.flatMap(({ name: folder, record }) => record.held.map((file) => ({ folder, file })));
    const there = await Promise.all(files.map(({ folder, file }) => isThere(dir, folder, file)));
    return files
      .filter((_, i) => there[i])
      .map(({ folder, file: { name, bytes, sha256 } }) => ({ key: keyOf(folder, name), bytes, sha256 }));
  }

  async #isPlain(key: string, { bytes }: Shelved): Promise<boolean> {
    return (await plainFileBytes(this.#options.dir, key)) === bytes;
  }

  #remember(key: string, one: Known): void {
    if (this.#known.size >= MOST_KNOWN) this.#known.clear();
    this.#known.set(key, one);
  }

  async #shelved(path: string, file: HeldFile): Promise<Shelved | "wrong"> {
    const running = this.#reading.get(path) ?? piecesOf(path, file).finally(() => this.#reading.delete(path));
    this.#reading.set(path, running);
    const pieces = await running;
    if (pieces === undefined) return "wrong";
    return {
      ...{ bytes: file.bytes, sha256: file.sha256, generation: `whole-${file.sha256}` },
      notes: pieces.map((sha256, index) => ({ index, sha256 })),
      read: (index) => readPlainFile(path, pieceRange(file.bytes, index)),
    };
  }
}

const listingsIn = (folders: readonly Folder[]): readonly Listing[] =>
  folders.flatMap(({ name, record }) => listingsOf(name, record));

const inMemory = ({ data, sha256 }: Listing): Shelved => ({
  ...{ bytes: data.length, sha256, generation: `listing-${sha256}` },
  notes: [{ index: 0, sha256 }],
  read: (index) => Promise.resolve(index === 0 ? data : undefined),
});

/** Undefined: the file is not what was fetched. */
async function piecesOf(path: string, file: HeldFile): Promise<readonly string[] | undefined> {
  const before = await readPieceFile(path, file);
  if (before !== undefined) return before;
  const { sha256, pieces } = await hashPieces(path, file.bytes);
  if (sha256 !== file.sha256) return undefined;
  await writePieceFile(path, { bytes: file.bytes, sha256, pieces });
  return pieces;
}

function onItsWay(downloader: Pick<Downloader, "open">, path: string): Shelved | "none" {
  const open = downloader.open(path);
  if (open === undefined) return "none";
  const { size: bytes, generation } = open;
  const read = (index: number): Promise<Uint8Array | undefined> =>
    open.read(pieceRange(bytes, index)).catch(() => undefined);
  return { ...{ bytes, generation, read }, sha256: "", notes: open.notes() };
}

const isThere = async (dir: string, folder: string, { name, bytes }: HeldFile): Promise<boolean> =>
  isSafeName(folder) && isSafeName(name) && (await plainFileBytes(dir, keyOf(folder, name))) === bytes;
