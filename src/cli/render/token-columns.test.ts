import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import pc from "picocolors";
import { expect, test } from "vitest";
import { millis } from "../../core/ids.ts";
import { TokenSchema } from "../../wire/gen/llmgw/v1/trust_pb.js";
import { table } from "./table.ts";
import { tokenColumns } from "./token-columns.ts";

const NOW = 1_700_000_000_000;
const colours = pc.createColors(false);

test("tokens: for whom, what is left of them, until when, and who came by them", () => {
  const times = { createdAt: timestampFromMs(NOW - 300_000), expiresAt: timestampFromMs(NOW + 3_300_000) };
  const by = { createdBy: "the admin token" };
  const tokens = [
    create(TokenSchema, {
      ...{ id: "token-1", kind: "join", prefix: "llmgw-join-abcdef", state: "active", uses: 3, usesLeft: 1 },
      ...{ nodes: ["n1", "n2"], ...times, ...by },
    }),
    create(TokenSchema, {
      ...{ id: "token-2", kind: "join", prefix: "llmgw-join-ghijkl", state: "expired", node: "gpu-a-01", uses: 1 },
      ...{ usesLeft: 1, createdAt: times.createdAt, expiresAt: timestampFromMs(NOW - 60_000), ...by },
    }),
    create(TokenSchema, {
      ...{ id: "token-3", kind: "user", prefix: "llmgw-user-mnopqr", state: "active", name: "alice", role: "viewer" },
      ...{ ...times, createdBy: "bob (admin)" },
    }),
  ];
  const look = { width: undefined, colours, wide: true };
  expect(`\n${table(tokenColumns({ now: millis(NOW), colours }), tokens, look)}`).toMatchInlineSnapshot(`
    "
    ID       TOKEN               FOR             STATE    USES LEFT  EXPIRES  AGE  NODES  CREATED BY
    token-1  llmgw-join-abcdef…  any node        active   1/3        in 55m    5m  n1,n2  the admin token
    token-2  llmgw-join-ghijkl…  node gpu-a-01   expired  1/1        60s ago   5m  -      the admin token
    token-3  llmgw-user-mnopqr…  alice (viewer)  active   -          in 55m    5m  -      bob (admin)
    "
  `);
});
