import { nodeId, millis } from "../../src/core/ids.ts";
import type { Inventory } from "../../src/core/node.ts";
import { openSqliteStore } from "../../src/store/sqlite.ts";
import { noChanges } from "./snapshots.ts";

// Commits without end and says after each how far it is, until it is killed.
const [, , path = ""] = process.argv;
const store = await openSqliteStore({ path, newServerId: "writer" });
for (let revision = 0; ; revision++) {
  const id = nodeId(`n${String(revision)}`);
  const node = {
    id,
    inventory: {} as Inventory,
    liveness: "connected",
    cordoned: false,
    joinedAt: millis(0),
    lastSeen: millis(0),
    desiredRevision: 0,
    desiredHash: "",
  } as const;
  const event = { level: "info", subjectKind: "node", subject: id, reason: "NodeJoined", message: "joined" } as const;
  await store.commit(revision, { ...noChanges, putNodes: [node], events: [event] }, millis(revision));
  process.stdout.write(`${String(revision + 1)}\n`);
}
