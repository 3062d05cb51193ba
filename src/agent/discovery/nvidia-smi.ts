import { type Bytes, bytes, gpuUuid, type GpuUuid } from "../../core/ids.ts";
import type { Gpu } from "../../core/node.ts";
import { type GpuMemory, isIntegrated, ownMemory, sharedMemory } from "./gpu-memory.ts";
import type { HostMemory } from "./meminfo.ts";
import { pciAddress } from "./pci.ts";

/** What is asked for, in this order. A tool that does not know a column answers none of them, and is asked again without it. */
export const QUERY = [
  "index",
  "name",
  "uuid",
  "memory.total",
  "memory.free",
  "memory.used",
  "driver_version",
  "compute_cap",
  "pci.bus_id",
  "mig.mode.current",
  "ecc.errors.uncorrected.volatile.total",
  "retired_pages.pending",
] as const;

export interface ToolAnswer {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export type GpuReading =
  | {
      readonly kind: "read";
      readonly gpus: readonly Gpu[];
      /** Cards that are cut into MIG instances, or are to be. */
      readonly cut: readonly GpuUuid[];
    }
  /** The tool could not say which GPUs there are: that is no node without GPUs. */
  | { readonly kind: "unreadable"; readonly reason: string }
  /** This version of the tool does not know one of the columns. */
  | { readonly kind: "unknownColumn"; readonly column: string };

/**
 * The table of `nvidia-smi --query-gpu=… --format=csv,noheader,nounits`, with what real ones do to it: missing values in
 * brackets, a header after all, units, blank lines, CRLF, and sentences about cards that are lost.
 */
export function readGpus(answer: ToolAnswer, columns: readonly string[], host: HostMemory | undefined): GpuReading {
  const lines = plain(answer.stdout)
    .split(/\r?\n/)
    .map((line) => line.trim());
  const header = lines.find(isHeader);
  const named = header === undefined ? columns : cells(header).map((cell) => cell.replace(/ \[.*\]$/, ""));
  const table = lines.filter(isRow).map((line) => withWholeName(cells(line), named));
  const rows = table.map((row) => whole(gpuOf(row, named, host), isCutShort(row, table, named)));
  // A warning may name a card that is well enough to have its row.
  const answering = new Set(rows.map(({ pciBusId }) => pciBusId));
  const lost = lines.flatMap(lostCardIn).filter(({ pciId }) => !answering.has(pciAddress(pciId)));
  if (rows.length === 0 && lost.length === 0) return withoutRows(answer);
  const cut = rows.flatMap(({ uuid }, at) => (isCut(table[at]?.[named.indexOf("mig.mode.current")]) ? [uuid] : []));
  return { kind: "read", gpus: [...rows, ...lost.map((card, n) => lostGpu(card, rows, n))], cut };
}

/** Control characters are none of a tool's, and would travel on to terminals and into JSON. */
const plain = (text: string): string => text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/g, "");

/** Every line has every column, unless the tool was ended in the middle of one. */
function isCutShort(
  row: readonly string[],
  table: readonly (readonly string[])[],
  columns: readonly string[],
): boolean {
  return row.length <= columns.indexOf("memory.total") || table.some((other) => other.length > row.length);
}

const whole = (gpu: Gpu, isShort: boolean): Gpu =>
  isShort ? { ...gpu, problem: gpu.problem ?? "nvidia-smi's line about it was cut short" } : gpu;

const isCut = (mode: string | undefined): boolean => mode === "Enabled";
const isHeader = (line: string): boolean => /^(index|name|uuid)\b.*,/i.test(line) && !/^\d/.test(line);
const isRow = (line: string): boolean => /^\d{1,4}\s*,/.test(line);
const cells = (line: string): readonly string[] => line.split(",").map((cell) => cell.trim());

/** The tool puts no quotes around a name with commas in it. */
function withWholeName(row: readonly string[], columns: readonly string[]): readonly string[] {
  const at = columns.indexOf("name");
  const extra = row.length - columns.length;
  if (at < 0 || extra <= 0) return row;
  return [...row.slice(0, at), row.slice(at, at + extra + 1).join(", "), ...row.slice(at + extra + 1)];
}

function withoutRows({ code, stdout, stderr }: ToolAnswer): GpuReading {
  const said = [stdout, stderr]
    .map((text) =>
      plain(text)
        .trim()
        .replaceAll(/\s*[\r\n]+\s*/g, "; "),
    )
    .filter((text) => text !== "");
  const message = said.join("; ");
  const column = /Field "([^"]{1,80})" is not a valid field to query/i.exec(message)?.[1];
  if (column !== undefined) return { kind: "unknownColumn", column };
  if (/no devices were found/i.test(message) || (code === 0 && message === ""))
    return { kind: "read", gpus: [], cut: [] };
  const what =
    message === "" ? `nvidia-smi ended with status ${String(code)} and said nothing` : `nvidia-smi: ${message}`;
  if (/insufficient permissions|permission denied/i.test(message)) {
    return { kind: "unreadable", reason: `permission: ${what}. Run the agent as a user that may open /dev/nvidia*` };
  }
  if (/version mismatch/i.test(message)) {
    return { kind: "unreadable", reason: `driver: ${what}. Reload the driver or start the machine again` };
  }
  return { kind: "unreadable", reason: `driver: ${what.slice(0, 500)}` };
}

function gpuOf(row: readonly string[], columns: readonly string[], host: HostMemory | undefined): Gpu {
  const raw = (column: string): string => row[columns.indexOf(column)] ?? "";
  const value = (column: string): string | undefined => (isMissing(raw(column)) ? undefined : raw(column));
  const index = Number(raw("index"));
  const name = value("name") ?? "NVIDIA GPU";
  const problem = problemIn(row) ?? memoryFault(value);
  return {
    // CUDA takes an index where a UUID is asked for, and a board that hides its UUID has just this one GPU.
    uuid: gpuUuid(value("uuid") ?? String(index)),
    index,
    name,
    ...memoryOf({ name, value, isHidden: problem === undefined && hidesMemory(raw) }, host),
    problem,
    driverVersion: value("driver_version") ?? "",
    computeCapability: value("compute_cap") ?? "",
    pciBusId: pciAddress(raw("pci.bus_id")),
    ...UNPLACED,
  };
}

/** [N/A], [Not Supported], [Unknown Error], [GPU is lost], ERR!, N/A: a value that the tool does not have. */
const isMissing = (cell: string): boolean => cell === "" || /^(\[.*\]|N\/A|ERR!.*|Unknown Error)$/i.test(cell);

interface MemoryCells {
  readonly name: string;
  readonly value: (column: string) => string | undefined;
  readonly isHidden: boolean;
}

function memoryOf({ name, value, isHidden }: MemoryCells, host: HostMemory | undefined): GpuMemory {
  const sizes = {
    total: sizeIn(value("memory.total")),
    free: sizeIn(value("memory.free")),
    used: sizeIn(value("memory.used")),
  };
  return isIntegrated(name) || (isHidden && sizes.total === undefined) ? sharedMemory(sizes, host) : ownMemory(sizes);
}

/** A card that is cut has no memory to give, and its tool has the same words for that as for a board without its own. */
const hidesMemory = (raw: (column: string) => string): boolean =>
  raw("memory.total") !== "" && !isCut(raw("mig.mode.current"));

const RESET = "Reset it (nvidia-smi --gpu-reset) or start the machine again";

function memoryFault(value: (column: string) => string | undefined): string | undefined {
  const errors = value("ecc.errors.uncorrected.volatile.total") ?? "0";
  if (/^[1-9]\d*$/.test(errors))
    return `${errors} uncorrected memory errors (ECC) since its driver was loaded. ${RESET}`;
  return value("retired_pages.pending") === "Yes" ? `a page of its memory waits to be retired. ${RESET}` : undefined;
}

function problemIn(row: readonly string[]): string | undefined {
  const said = row.find((cell) => /^\[?(GPU is lost|Unknown Error|GPU requires reset)\]?$|^ERR!/i.test(cell));
  return said === undefined ? undefined : `nvidia-smi says of it: ${said.replaceAll(/[[\]]/g, "")}`;
}

const MIB = 1024 * 1024;

/** "12288", "12288 MiB", "12 GiB" in bytes; a number alone is MiB. */
function sizeIn(cell: string | undefined): Bytes | undefined {
  const match = /^(\d+(?:\.\d+)?)\s*(KiB|MiB|GiB|TiB)?$/i.exec(cell ?? "");
  if (match?.[1] === undefined) return undefined;
  const unit =
    { kib: 1024, mib: MIB, gib: MIB * 1024, tib: MIB * 1024 * 1024 }[(match[2] ?? "mib").toLowerCase()] ?? MIB;
  return bytes(Math.round(Number(match[1]) * unit));
}

interface LostCard {
  readonly pciId: string;
  readonly sentence: string;
}

const PCI_ID = /\b([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f])\b/i;

function lostCardIn(line: string): readonly LostCard[] {
  const pciId = PCI_ID.exec(line)?.[1];
  return pciId === undefined || isRow(line) || isHeader(line) ? [] : [{ pciId, sentence: line }];
}

/** Named by where it sits: everything else about it is out of reach. */
function lostGpu({ pciId, sentence }: LostCard, healthy: readonly Gpu[], nth: number): Gpu {
  const taken = new Set(healthy.map(({ index }) => index));
  const free = Array.from({ length: healthy.length + nth + 1 }, (_, index) => index).filter(
    (index) => !taken.has(index),
  );
  return {
    uuid: gpuUuid(pciId),
    index: free[nth] ?? healthy.length + nth,
    name: `NVIDIA GPU at ${pciId}`,
    memoryTotal: bytes(0),
    memoryFree: bytes(0),
    unified: false,
    problem: `lost: ${sentence}`,
    driverVersion: "",
    computeCapability: "",
    pciBusId: pciAddress(pciId),
    ...UNPLACED,
  };
}

/** What no table of nvidia-smi says of a card. */
const UNPLACED = { numaNode: undefined, links: [], parent: undefined } as const;
