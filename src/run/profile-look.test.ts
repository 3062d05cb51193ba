import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { ProfileSchema, ReplicaSchema } from "../wire/gen/llmgw/v1/admin_pb.js";
import { lookAtProfile } from "./profile-look.ts";

const profile = create(ProfileSchema, { name: "p", replicas: 2, specHash: "new" });
const replica = (state: string, specHash = "new", owner = "p") =>
  create(ReplicaSchema, { id: `${state}-${specHash}`, profile: owner, state, specHash });

test.each([
  { name: "no such profile", profile: undefined, replicas: [], want: "gone" },
  { name: "nothing yet", profile, replicas: [], want: "waiting" },
  { name: "one of two", profile, replicas: [replica("ready"), replica("starting")], want: "waiting" },
  { name: "both", profile, replicas: [replica("ready"), replica("ready")], want: "ready" },
  {
    name: "old ones still serve",
    profile,
    replicas: [replica("ready", "old"), replica("ready", "old")],
    want: "waiting",
  },
  {
    name: "another profile's",
    profile,
    replicas: [replica("ready", "new", "q"), replica("ready", "new", "q")],
    want: "waiting",
  },
  { name: "one failed", profile, replicas: [replica("ready"), replica("failed")], want: "failed" },
  { name: "an old one failed", profile, replicas: [replica("failed", "old")], want: "waiting" },
  {
    name: "enough, and one more that failed",
    profile,
    replicas: [replica("ready"), replica("ready"), replica("failed")],
    want: "ready",
  },
  { name: "none asked for", profile: create(ProfileSchema, { name: "p", replicas: 0 }), replicas: [], want: "ready" },
])("$name: $want", ({ profile: asked, replicas, want }) => {
  expect(lookAtProfile(asked, replicas).kind).toBe(want);
});
