import type { Chance } from "./chance.ts";
import { mutatedBytes } from "./mutate.ts";

const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
const HEAD = 9;

export interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Buffer;
}

export const DATA = 0;

/** The frames of a whole connection of a client, which begins with the preface. */
export function framesOf(bytes: Buffer): readonly Frame[] {
  const frames: Frame[] = [];
  let at = PREFACE.length;
  while (at + HEAD <= bytes.length) {
    const end = at + HEAD + bytes.readUIntBE(at, 3);
    const [type = 0, flags = 0] = bytes.subarray(at + 3, at + 5);
    frames.push({ type, flags, stream: bytes.readUInt32BE(at + 5), payload: bytes.subarray(at + HEAD, end) });
    at = end;
  }
  return frames;
}

function frameBytes({ type, flags, stream, payload }: Frame, length = payload.length): Buffer {
  const head = Buffer.alloc(HEAD);
  head.writeUIntBE(length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** The connection with frames changed, dropped, doubled, swapped and put in that nobody would send. */
export function mutatedConnection(chance: Chance, frames: readonly Frame[]): readonly Buffer[] {
  let list = [...frames];
  for (let change = chance.below(4); change >= 0; change--) list = changedFrames(chance, list);
  const parts = list.map((frame) => (chance.is(0.05) ? mutatedBytes(chance, frameBytes(frame)) : frameBytes(frame)));
  return [chance.is(0.02) ? mutatedBytes(chance, PREFACE) : PREFACE, ...parts];
}

function changedFrames(chance: Chance, frames: readonly Frame[]): Frame[] {
  const at = chance.below(frames.length);
  const frame = frames[at] ?? { type: 0, flags: 0, stream: 0, payload: Buffer.alloc(0) };
  const ways = [
    () => frames.toSpliced(at, 1),
    () => frames.toSpliced(at, 0, frame),
    () => frames.with(at, { ...frame, type: chance.below(12) }),
    () => frames.with(at, { ...frame, flags: chance.below(256) }),
    () => frames.with(at, { ...frame, stream: chance.pick([0, 1, 2, 3, 5, 2 ** 31 - 1, 2 ** 32 - 1]) }),
    () => frames.with(at, { ...frame, payload: mutatedBytes(chance, frame.payload) }),
    () => frames.toSpliced(at, 0, strangeFrame(chance)),
    () => frames.toSpliced(at, 0, ...Array.from({ length: 1 + chance.length(500) }, () => strangeFrame(chance))),
  ];
  return [...chance.pick(ways)()];
}

const strangeFrame = (chance: Chance): Frame => ({
  type: chance.below(12),
  flags: chance.below(256),
  stream: chance.pick([0, 1, 1, 3]),
  payload: chance.bytes(chance.pick([0, 4, 5, 6, 8, chance.length(4_000)])),
});

export const plainConnection = (frames: readonly Frame[]): readonly Buffer[] => [
  PREFACE,
  ...frames.map((frame) => frameBytes(frame)),
];
