import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { GoodbyeSchema, HeartbeatSchema, LogChunkSchema } from "../wire/gen/llmgw/v1/agent_pb.js";
import { InventorySchema } from "../wire/gen/llmgw/v1/common_pb.js";
import { type Outgoing, Outbox } from "./outbox.ts";

const heartbeat = (sequence: number): Outgoing => ({ case: "heartbeat", value: create(HeartbeatSchema, { sequence }) });
const inventory: Outgoing = { case: "inventory", value: create(InventorySchema) };
const goodbye: Outgoing = { case: "goodbye", value: create(GoodbyeSchema) };
const piece = (requestId: number): Outgoing => ({ case: "logChunk", value: create(LogChunkSchema, { requestId }) });

/** All that still goes out, in words. */
async function rest(outbox: Outbox): Promise<readonly string[]> {
  const said: string[] = [];
  for await (const { body } of outbox) {
    const number =
      body.case === "heartbeat" ? body.value.sequence : body.case === "logChunk" ? body.value.requestId : "";
    said.push(`${body.case ?? ""} ${String(number)}`.trim());
  }
  return said;
}

test("B49 a sign of life does not wait behind pieces of a log, and these stay in order", async () => {
  const outbox = new Outbox();
  for (const n of [1, 2, 3]) await outbox.send(piece(n));
  outbox.put(heartbeat(1));
  outbox.close();
  expect(await rest(outbox)).toEqual(["heartbeat 1", "logChunk 1", "logChunk 2", "logChunk 3"]);
});

test("of what replaces itself only the newest waits, in the place of the first", async () => {
  const outbox = new Outbox();
  outbox.put(heartbeat(1));
  outbox.put(inventory);
  outbox.put(heartbeat(2));
  outbox.close();
  expect(await rest(outbox)).toEqual(["heartbeat 2", "inventory"]);
});

test("a goodbye comes after all that waits, and nothing after it", async () => {
  const outbox = new Outbox();
  await outbox.send(piece(1));
  outbox.put(heartbeat(1));
  outbox.close(goodbye);
  outbox.put(heartbeat(2));
  expect(await outbox.send(piece(2))).toBe(false);
  outbox.close(goodbye);
  expect(await rest(outbox)).toEqual(["heartbeat 1", "logChunk 1", "goodbye"]);
});

test("a sender waits while eight pieces do, and goes on when one has gone", async () => {
  const outbox = new Outbox();
  for (let n = 1; n <= 8; n++) await outbox.send(piece(n));
  let hasRoom = false;
  const ninth = outbox.send(piece(9)).then((taken) => (hasRoom = taken));
  const reader = outbox[Symbol.asyncIterator]();
  expect(hasRoom).toBe(false);
  await reader.next();
  await ninth;
  expect(hasRoom).toBe(true);
  outbox.close();
});
