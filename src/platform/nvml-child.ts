import { messageOf } from "../core/errors.ts";
import type { NvmlAnswer, NvmlCard, NvmlDevice, NvmlLink, NvmlPair } from "./nvml-answer.ts";
import { addressIn, askCard, askSlice, emptyPciInfo, textIn } from "./nvml-device.ts";
import type { NvmlCall } from "./nvml-library.ts";

/**
 * A program of its own: node nvml-child.ts LIBRARY…, which reads everything once and prints it as one line of JSON. A driver
 * with a sick card holds its caller in the kernel for ever, or takes it down with it; this caller can be spared.
 */
async function answer(libraries: readonly string[]): Promise<NvmlAnswer> {
  // The binding to C has a part for each kind of machine, and may have none for this one.
  const binding = await import("./nvml-library.ts").catch((error: unknown) => messageOf(error));
  if (typeof binding === "string") return { kind: "notLoaded", reason: binding };
  const reasons: string[] = [];
  for (const library of libraries) {
    const opened = binding.openNvml(library);
    if (opened.ok) return read(opened.value, library);
    reasons.push(opened.error);
  }
  return { kind: "notLoaded", reason: reasons[0] ?? "no library was named" };
}

function read(nvml: NvmlCall, library: string): NvmlAnswer {
  const started = nvml("nvmlInit_v2");
  if (started !== 0) return { kind: "failed", library, call: "nvmlInit_v2", code: started };
  const count = Buffer.alloc(4);
  const counted = nvml("nvmlDeviceGetCount_v2", count);
  if (counted !== 0) return { kind: "failed", library, call: "nvmlDeviceGetCount_v2", code: counted };
  const driver = Buffer.alloc(80);
  const versioned = nvml("nvmlSystemGetDriverVersion", driver, driver.length);
  const given = Array.from({ length: Math.min(count.readUInt32LE(), MOST_CARDS) }, (_, index) => give(nvml, index));
  const cards = given.map((card, index) => readCard(nvml, index, card));
  const answered = given.flatMap(({ handle }, index) => (handle === undefined ? [] : [{ index, handle }]));
  const pairs = readPairs(nvml, answered);
  nvml("nvmlShutdown");
  return { kind: "read", library, driver: versioned === 0 ? textIn(driver) : "", cards, pairs };
}

/** More than any machine holds: a count beyond it is rubbish. */
const MOST_CARDS = 256;

interface Given {
  readonly code: number;
  readonly handle: bigint | undefined;
}

function give(nvml: NvmlCall, index: number): Given {
  const out = Buffer.alloc(8);
  const code = nvml("nvmlDeviceGetHandleByIndex_v2", index, out);
  return { code, handle: code === 0 ? out.readBigUInt64LE() : undefined };
}

function readCard(nvml: NvmlCall, index: number, { code, handle }: Given): NvmlCard {
  if (handle === undefined) return { index, code, texts: {}, numbers: {}, failed: {}, nvlinks: [], slices: [] };
  const card = askCard(nvml, handle);
  const isSliced = card.numbers["mig"]?.[0] === 1;
  return {
    index,
    code,
    ...card,
    nvlinks: readLinks(nvml, handle),
    slices: isSliced ? readSlices(nvml, handle) : [],
  };
}

function readSlices(nvml: NvmlCall, handle: bigint): readonly NvmlDevice[] {
  const most = Buffer.alloc(4);
  if (nvml("nvmlDeviceGetMaxMigDeviceCount", handle, most) !== 0) return [];
  return Array.from({ length: Math.min(most.readUInt32LE(), MOST_CARDS) }, (_, index) => index).flatMap((index) => {
    const out = Buffer.alloc(8);
    const code = nvml("nvmlDeviceGetMigDeviceHandleByIndex", handle, index, out);
    return code === 0 ? [askSlice(nvml, out.readBigUInt64LE())] : [];
  });
}

/** NVML_NVLINK_MAX_LINKS of the newest cards. */
const MOST_LINKS = 36;
const INVALID_ARGUMENT = 2;
const UNKNOWN_DEVICE = 255;

function readLinks(nvml: NvmlCall, handle: bigint): readonly NvmlLink[] {
  const links: NvmlLink[] = [];
  for (let link = 0; link < MOST_LINKS; link++) {
    const active = Buffer.alloc(4);
    const code = nvml("nvmlDeviceGetNvLinkState", handle, link, active);
    // So a card says that it has no more links. One that is not supported may have others beside it.
    if (code === INVALID_ARGUMENT) break;
    if (code !== 0 || active.readUInt32LE() !== 1) continue;
    const kind = Buffer.alloc(4);
    const info = emptyPciInfo();
    const kindCode = nvml("nvmlDeviceGetNvLinkRemoteDeviceType", handle, link, kind);
    const infoCode = nvml("nvmlDeviceGetNvLinkRemotePciInfo_v2", handle, link, info);
    links.push({
      kind: kindCode === 0 ? kind.readUInt32LE() : UNKNOWN_DEVICE,
      remote: infoCode === 0 ? addressIn(info) : "",
    });
  }
  return links;
}

interface Answering {
  readonly index: number;
  readonly handle: bigint;
}

const NVLINK_CAPABILITY = 2;

function readPairs(nvml: NvmlCall, cards: readonly Answering[]): readonly NvmlPair[] {
  return cards.flatMap((a, at) =>
    cards.slice(at + 1).map((b) => {
      const ancestor = Buffer.alloc(4);
      const status = Buffer.alloc(4);
      const ancestorCode = nvml("nvmlDeviceGetTopologyCommonAncestor", a.handle, b.handle, ancestor);
      const p2pCode = nvml("nvmlDeviceGetP2PStatus", a.handle, b.handle, NVLINK_CAPABILITY, status);
      return {
        a: a.index,
        b: b.index,
        ancestor: ancestorCode === 0 ? ancestor.readUInt32LE() : -1,
        p2p: p2pCode === 0 ? status.readUInt32LE() : -1,
      };
    }),
  );
}

process.stdout.write(`\n${JSON.stringify(await answer(process.argv.slice(2)))}\n`);
