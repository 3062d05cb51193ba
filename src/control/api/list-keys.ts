import { create } from "@bufbuild/protobuf";
import {
  type ListKeysRequest,
  type ListKeysResponse,
  ListKeysResponseSchema,
} from "../../wire/gen/llmgw/v1/admin_pb.js";
import type { ControlPlane } from "../control-plane.ts";
import { keyToWire } from "../keys/key-set.ts";

export function listKeys({ loop, clock, usage }: ControlPlane, { revoked }: ListKeysRequest): ListKeysResponse {
  const keys = loop.snapshot.keys
    .filter(({ revokedAt }) => revoked || revokedAt === undefined)
    .toSorted((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : a.createdAt - b.createdAt));
  const now = clock.now();
  return create(ListKeysResponseSchema, { keys: keys.map((key) => keyToWire(key, now, usage.total(key.id, now))) });
}
