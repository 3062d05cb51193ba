import { describe, expect, test } from "vitest";
import { millis, nodeId } from "../../../core/ids.ts";
import { err } from "../../../core/result.ts";
import type { SharingPermission } from "../../../core/sharing.ts";
import { Guests } from "./guests.ts";

const at = millis;
const given: SharingPermission = { permission: "p1", node: nodeId("a"), key: "f/m", validFor: millis(1000) };

function guests(): Guests {
  const made = new Guests();
  made.permit([given], at(0));
  return made;
}

describe("a permission", () => {
  test("lets its node in, once", () => {
    const door = guests();
    const visit = door.enter("p1", "a", at(5));
    expect(visit.ok && door.visiting(visit.value, at(6))).toMatchObject({ node: "a", key: "f/m" });
    expect(door.enter("p1", "a", at(7))).toEqual(err("used"));
    // The control plane repeats what holds; that makes nothing new of it.
    door.permit([given], at(8));
    expect(door.enter("p1", "a", at(9))).toEqual(err("used"));
  });

  test.each([
    ["nobody gave it", "p2", "a", 5, "unknown"],
    ["another node shows it", "p1", "b", 5, "other-node"],
    ["too late", "p1", "a", 1001, "expired"],
  ] as const)("is refused when %s", (_name, permission, node, now, refusal) => {
    expect(guests().enter(permission, node, at(now))).toEqual(err(refusal));
  });

  test("that was taken back lets nobody in", () => {
    const door = guests();
    door.permit([], at(1));
    expect(door.enter("p1", "a", at(2))).toEqual(err("unknown"));
  });

  test("a visit ends when the guest has left, or has been silent for a minute", () => {
    const door = guests();
    const visit = door.enter("p1", "a", at(0));
    if (!visit.ok) throw new Error(visit.error);
    expect(door.visiting(visit.value, at(59_000))).toBeDefined();
    expect(door.visiting(visit.value, at(118_000))).toBeDefined();
    expect(door.visiting(visit.value, at(200_000))).toBeUndefined();
    expect(door.visiting("anything", at(0))).toBeUndefined();
  });
});
