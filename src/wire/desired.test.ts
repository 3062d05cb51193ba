import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import type { DesiredReplica } from "../core/desired.ts";
import { millis, profileName, replicaId } from "../core/ids.ts";
import { desiredFromWire, desiredToWire } from "./desired.ts";
import { DesiredStateSchema } from "./gen/llmgw/v1/agent_pb.js";

const replica: DesiredReplica = {
  id: replicaId("chat-1"),
  profile: profileName("chat"),
  specHash: "h",
  serves: ["chat"],
  engine: "auto",
  model: { source: "hf:a/b", files: [], sha256: {} },
  context: undefined,
  args: [],
  env: {},
  gpus: [],
  apiKey: "",
  startTimeout: millis(1),
  generation: 0,
};

test("adapters come in their order, by which engines know them, whatever they are called", () => {
  const names = ["salty", "kind", "10", "9", "__proto__"];
  const adapters = names.map((name) => ({ name, source: `hf:a/${name}` }));
  const state = { revision: 1, replicas: [{ ...replica, adapters }], engines: {}, weightsConcurrency: 1 };
  const bytes = toBinary(DesiredStateSchema, desiredToWire(state));
  expect(desiredFromWire(fromBinary(DesiredStateSchema, bytes))).toEqual(state);
});
