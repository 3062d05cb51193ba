import { randomBytes } from "node:crypto";
import type { NewEvent } from "../core/event.ts";
import { type Millis, millis, type NodeId } from "../core/ids.ts";
import type { SharingPermission, SharingPlan, SharingSource } from "../core/sharing.ts";
import type { Clock } from "../platform/clock.ts";
import { type Leads, shareWeights, type SharingPolicy, type WantedFrom } from "../reconcile/share-weights.ts";
import type { Agents, SharingNode } from "./sessions/agents.ts";

/** The node's label that says which nodes have one way to the outside. */
const SITE = "site";
const POLICY: SharingPolicy = { slowAfter: millis(60_000), goneAfter: millis(20_000) };
/** News that arrives together is decided on together. */
const GATHER_FOR = millis(50);
/** While something is on its way, silence is looked for so often. */
const LOOK_EVERY = millis(1_000);
/** Long enough to be used by a node that is busy, short enough to be of little use to anyone else. */
const PERMISSION_VALID: Millis = millis(10 * 60_000);

interface DeskOptions {
  readonly agents: Pick<Agents, "gatherSharing" | "publishSharing">;
  readonly clock: Clock;
  /** Whether nodes fetch from each other at all. Asked each time: it may change. */
  readonly isOn: () => boolean;
  /** For operators. */
  readonly report: (event: NewEvent) => void;
}

interface Counted {
  readonly instance: string;
  readonly origin: number;
  readonly peer: number;
}

interface Minted {
  readonly permission: string;
  readonly at: Millis;
}

/** A file on its way to a node. */
export interface MovingFile {
  readonly key: string;
  /** 0: not known yet. */
  readonly bytes: number;
  readonly source: string;
  readonly done: number;
  /** "origin", or nodes; empty while it waits. */
  readonly from: readonly string[];
}

/** Tells nodes which weights to fetch from whom, and gives each pair the permission for it. Nothing of it is stored. */
export class WeightsDesk {
  readonly #options: DeskOptions;
  #leads: Leads = new Map();
  #minted = new Map<string, Minted>();
  readonly #told = new Set<string>();
  readonly #bytes = { origin: 0, peer: 0 };
  readonly #counted = new Map<NodeId, Counted>();
  #cancel: (() => void) | undefined;
  #isSoon = false;
  #isStopped = false;

  constructor(options: DeskOptions) {
    this.#options = options;
  }

  /** Bytes of weights that came to all nodes since this control plane started. */
  get bytes(): { readonly origin: number; readonly peer: number } {
    return this.#bytes;
  }

  /** What is on its way to each node, as the nodes last said. */
  transfers(): ReadonlyMap<NodeId, readonly MovingFile[]> {
    return new Map(
      this.#options.agents.gatherSharing().map(({ id, report }) => [
        id,
        report.transfers.map(({ file, source, done, doing, from }) => ({
          ...{ key: file.key, bytes: file.bytes, source, done },
          from: doing === "origin" ? ["origin"] : from,
        })),
      ]),
    );
  }

  /** A node has said something new, or is gone. */
  changed(): void {
    // With many nodes there is always something new: what is planned is not put off by it.
    if (this.#isStopped || this.#isSoon) return;
    this.#isSoon = true;
    this.#cancel?.();
    this.#cancel = this.#options.clock.after(GATHER_FOR, () => {
      this.#look();
    });
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancel?.();
  }

  #look(): void {
    this.#cancel = undefined;
    this.#isSoon = false;
    const { agents, clock, isOn } = this.#options;
    const nodes = agents.gatherSharing();
    this.#count(nodes);
    this.#tellWrong(nodes);
    const plans = isOn()
      ? this.#plansFor(nodes)
      : new Map<NodeId, SharingPlan>(nodes.map((node) => [node.id, alone(node)]));
    for (const [node, plan] of plans) agents.publishSharing(node, plan);
    if (!this.#isStopped && nodes.some(({ report }) => report.transfers.length > 0)) {
      // Telling a node may have brought news at once.
      this.#cancel ??= clock.after(LOOK_EVERY, () => {
        this.#look();
      });
    }
  }

  #plansFor(nodes: readonly SharingNode[]): ReadonlyMap<NodeId, SharingPlan> {
    const now = this.#options.clock.monotonic();
    const members = nodes.map(({ id, labels, address, report }) => ({
      ...{ id, report },
      site: labels[SITE] ?? "",
      serves: report.port !== 0 && address !== "",
    }));
    const { leads, wanted } = shareWeights(members, this.#leads, { now, policy: POLICY });
    this.#leads = leads;
    const byId = new Map(nodes.map((node) => [node.id, node]));
    const permissions = new Map<NodeId, SharingPermission[]>();
    const minted = new Map<string, Minted>();
    const permit = (asker: SharingNode, source: NodeId, { key }: WantedFrom): readonly SharingSource[] => {
      const peer = byId.get(source);
      if (peer === undefined) return [];
      const round = asker.report.transfers.find(({ file }) => file.key === key)?.round ?? 0;
      // An agent that was started again has forgotten which of its permissions were used.
      const pair = JSON.stringify([asker.id, asker.instance, peer.id, peer.instance, key, round]);
      const known = this.#minted.get(pair);
      const isGood = known !== undefined && now - known.at < PERMISSION_VALID;
      const one = isGood ? known : { permission: randomBytes(24).toString("base64url"), at: now };
      minted.set(pair, one);
      const given = { permission: one.permission, node: asker.id, key, validFor: PERMISSION_VALID };
      const ofPeer = permissions.get(peer.id);
      if (ofPeer === undefined) permissions.set(peer.id, [given]);
      else ofPeer.push(given);
      const { address: host, report } = peer;
      return [{ node: peer.id, host, port: report.port, tls: report.tls, permission: one.permission }];
    };
    const orders = new Map(
      nodes.map((node) => [
        node.id,
        (wanted.get(node.id) ?? []).map((order) => ({
          ...{ key: order.key, toOrigin: order.toOrigin, leaderDone: order.leaderDone },
          sources: order.sources.flatMap((source) => permit(node, source, order)),
        })),
      ]),
    );
    this.#minted = minted;
    const suspects = suspectsIn(nodes);
    return new Map(
      nodes.map(({ id }) => [
        id,
        { orders: orders.get(id) ?? [], permissions: permissions.get(id) ?? [], suspects: suspects.get(id) ?? [] },
      ]),
    );
  }

  /** What agents count begins again with each of their starts. */
  #count(nodes: readonly SharingNode[]): void {
    for (const { id, instance, report } of nodes) {
      const known = this.#counted.get(id);
      const before = known?.instance === instance ? known : { origin: 0, peer: 0 };
      this.#bytes.origin += Math.max(0, report.originBytes - before.origin);
      this.#bytes.peer += Math.max(0, report.peerBytes - before.peer);
      this.#counted.set(id, { instance, origin: report.originBytes, peer: report.peerBytes });
    }
  }

  /** Once for each find: it stands in the reports for as long as the file is being fetched. */
  #tellWrong(nodes: readonly SharingNode[]): void {
    const found = nodes.flatMap(({ id, report }) => report.finds.map(({ node: peer, key }) => ({ id, peer, key })));
    const current = new Set(found.map((one) => JSON.stringify(one)));
    for (const one of found) {
      const name = JSON.stringify(one);
      if (this.#told.has(name)) continue;
      this.#told.add(name);
      const message =
        one.peer === one.id
          ? `${one.id} found wrong bytes in ${one.key} on its own disk; the file is put aside and fetched again`
          : `${one.peer} gave ${one.id} wrong bytes of ${one.key}: nobody is sent there for that file while it is fetched, and ${one.peer} checks its own`;
      this.#options.report({
        ...{ level: "warning", subjectKind: "node", subject: one.peer, reason: "WrongWeights", message },
      });
    }
    for (const name of this.#told) if (!current.has(name)) this.#told.delete(name);
  }
}

/** Without peers everyone goes to the source. */
const alone = ({ report }: SharingNode): SharingPlan => ({
  orders: report.transfers.map(({ file }) => ({
    ...{ key: file.key, toOrigin: true, leaderDone: 0, sources: [] },
  })),
  permissions: [],
  suspects: [],
});

/** By the node that others had wrong bytes from: the files that it has to check. */
function suspectsIn(nodes: readonly SharingNode[]): ReadonlyMap<NodeId, readonly string[]> {
  const finds = nodes.flatMap(({ report }) => report.finds);
  const byNode = [...Map.groupBy(finds, ({ node }) => node)];
  return new Map(byNode.map(([node, found]) => [node, [...new Set(found.map(({ key }) => key))]]));
}
