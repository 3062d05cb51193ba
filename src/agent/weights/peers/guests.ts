import { randomBytes } from "node:crypto";
import { type Millis, millis, type NodeId, plus } from "../../../core/ids.ts";
import { err, ok, type Result } from "../../../core/result.ts";
import type { SharingPermission } from "../../../core/sharing.ts";

/** A node that showed its permission. */
export interface Guest {
  readonly node: NodeId;
  readonly key: string;
}

interface Permitted extends Guest {
  readonly until: Millis;
  isUsed: boolean;
}

interface Visit extends Guest {
  lastSeen: Millis;
}

/** A guest that asks for nothing for so long has left. */
const IDLE = millis(60_000);
/** More at a time are nobody's plan. */
const MOST_VISITS = 256;

export type Refusal = "unknown" | "used" | "expired" | "other-node" | "full";

/** Whom this node may serve: by permissions of the control plane, each of which lets one node in, once. */
export class Guests {
  readonly #permitted = new Map<string, Permitted>();
  readonly #visits = new Map<string, Visit>();

  /** What holds from now on; one that is not among them any more lets nobody in. */
  permit(permissions: readonly SharingPermission[], now: Millis): void {
    const given = new Set(permissions.map(({ permission }) => permission));
    for (const known of this.#permitted.keys()) if (!given.has(known)) this.#permitted.delete(known);
    for (const { permission, node, key, validFor } of permissions) {
      if (this.#permitted.has(permission)) continue;
      this.#permitted.set(permission, { node, key, until: plus(now, validFor), isUsed: false });
    }
  }

  /** Whom a permission is for, while it lets somebody in. */
  look(permission: string, now: Millis): Result<Guest, Refusal> {
    const known = this.#permitted.get(permission);
    if (known === undefined) return err("unknown");
    if (known.isUsed) return err("used");
    return now > known.until ? err("expired") : ok({ node: known.node, key: known.key });
  }

  /** Uses the permission up. The text is what the guest shows from then on. */
  enter(permission: string, node: string, now: Millis): Result<string, Refusal> {
    const found = this.look(permission, now);
    const known = this.#permitted.get(permission);
    if (!found.ok || known === undefined) return err(found.ok ? "unknown" : found.error);
    if (known.node !== node) return err("other-node");
    this.#sweep(now);
    if (this.#visits.size >= MOST_VISITS) return err("full");
    known.isUsed = true;
    const visit = randomBytes(24).toString("base64url");
    this.#visits.set(visit, { node: known.node, key: known.key, lastSeen: now });
    return ok(visit);
  }

  visiting(visit: string, now: Millis): Guest | undefined {
    this.#sweep(now);
    const known = this.#visits.get(visit);
    if (known !== undefined) known.lastSeen = now;
    return known;
  }

  #sweep(now: Millis): void {
    for (const [visit, { lastSeen }] of this.#visits) if (now - lastSeen > IDLE) this.#visits.delete(visit);
  }
}
