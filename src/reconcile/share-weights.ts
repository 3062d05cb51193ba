import { compareTexts } from "../core/compare-texts.ts";
import type { Millis, NodeId } from "../core/ids.ts";
import type { SharedTransfer, SharingReport } from "../core/sharing.ts";
import { isOfUse, nearest, type Ring, ringOf, type RingSource } from "./share-ring.ts";

/** A node that is connected, with what it last said. */
export interface SharingMember {
  readonly id: NodeId;
  /** Nodes of one site fetch from each other and have one way to the outside. */
  readonly site: string;
  /** Whether others can fetch from it. */
  readonly serves: boolean;
  readonly report: Pick<SharingReport, "held" | "transfers">;
}

/** Who of a site goes to the source for a file, and since when it has had no new bytes. */
interface Lead {
  readonly leader: NodeId;
  readonly done: number;
  readonly since: Millis;
  /** Who led before and came to a halt. */
  readonly passed: readonly NodeId[];
}

/** By site and file. */
export type Leads = ReadonlyMap<string, Lead>;

export interface SharingPolicy {
  /** A leader without new bytes for so long is slow: another one is sent. */
  readonly slowAfter: Millis;
  /** A leader that is not connected may well go on; so long nobody is sent in its place. */
  readonly goneAfter: Millis;
}

export interface WantedFrom {
  readonly key: string;
  readonly toOrigin: boolean;
  readonly leaderDone: number;
  /** The best first. */
  readonly sources: readonly NodeId[];
}

export interface SharingDecision {
  readonly leads: Leads;
  readonly wanted: ReadonlyMap<NodeId, readonly WantedFrom[]>;
}

interface Asker {
  readonly id: NodeId;
  readonly member: SharingMember;
  readonly transfer: SharedTransfer;
}

/** All that ask for one file in one site, and all that have it there, or some of it. */
interface Group {
  readonly key: string;
  readonly askers: readonly Asker[];
  /** Those that no holder is of use to. */
  readonly orphans: readonly Asker[];
  readonly holders: Ring;
  readonly partial: Ring;
  /** Nobody is sent there for this file. */
  readonly wrong: ReadonlySet<NodeId>;
}

const MOST_HOLDERS = 3;
const MOST_PARTIAL = 3;

/**
 * Who fetches what from whom. A file that a node of the site holds is fetched there; else one node of the site goes to the
 * source, and the others take from it and from each other what is there already. Nobody waits for a leader that is gone
 * or came to a halt, and when every one of them has, each goes by itself.
 */
export function shareWeights(
  members: readonly SharingMember[],
  before: Leads,
  { now, policy }: { readonly now: Millis; readonly policy: SharingPolicy },
): SharingDecision {
  const leads = new Map<string, Lead>();
  const wanted = new Map<NodeId, WantedFrom[]>();
  const connected = new Set(members.map(({ id }) => id));
  for (const [name, group] of groupsOf(members)) {
    const lead = nextLead(group, before.get(name), { connected, now, policy });
    if (lead !== undefined) leads.set(name, lead);
    const ordering = orderingOf(group, lead);
    for (const asker of group.askers) {
      const orders = wanted.get(asker.id) ?? [];
      orders.push(orderFor(asker, ordering));
      wanted.set(asker.id, orders);
    }
  }
  return { leads, wanted };
}

function groupsOf(members: readonly SharingMember[]): ReadonlyMap<string, Group> {
  const nameOf = (site: string, key: string): string => `${site} ${key}`;
  const asked = Map.groupBy(
    members.flatMap((member) => member.report.transfers.map((transfer) => ({ id: member.id, member, transfer }))),
    ({ member, transfer }) => nameOf(member.site, transfer.file.key),
  );
  const held = Map.groupBy(
    members.flatMap((member) =>
      member.serves
        ? member.report.held
            .filter(({ key }) => asked.has(nameOf(member.site, key)))
            .map((file) => ({ id: member.id, site: member.site, file }))
        : [],
    ),
    ({ site, file }) => nameOf(site, file.key),
  );
  return new Map([...asked].map(([name, askers]) => [name, groupOf(askers, held.get(name) ?? [])]));
}

function groupOf(askers: readonly Asker[], held: readonly RingSource[]): Group {
  const wrong = new Set(askers.flatMap(({ transfer }) => transfer.wrong));
  const holders = ringOf(held.filter(({ id }) => !wrong.has(id)));
  const partial = askers
    .filter(({ id, member, transfer }) => member.serves && transfer.done > 0 && !wrong.has(id))
    .map(({ id, transfer }) => ({ id, file: transfer.file }));
  const orphans = askers.filter((asker) => nearest(holders, asker, 1).length === 0);
  return { key: askers[0]?.transfer.file.key ?? "", askers, orphans, holders, partial: ringOf(partial), wrong };
}

interface Looking {
  readonly connected: ReadonlySet<NodeId>;
  readonly now: Millis;
  readonly policy: SharingPolicy;
}

function nextLead({ orphans }: Group, lead: Lead | undefined, looking: Looking): Lead | undefined {
  if (orphans.length === 0) return undefined;
  const kept = lead === undefined ? undefined : keptLead(lead, orphans, looking);
  if (kept !== undefined) return kept;
  const passed = lead === undefined ? [] : passedBy(lead, orphans);
  const [best] = orphans
    .filter(({ id }) => !passed.includes(id))
    .toSorted((a, b) => rank(b) - rank(a) || compareTexts(a.id, b.id));
  const next = best ?? orphans[0];
  if (next === undefined) return undefined;
  return { leader: next.id, done: next.transfer.done, since: looking.now, passed };
}

/** One that the others can fetch from; of those the one that goes there already, else the one that has the most. */
const rank = ({ member, transfer }: Asker): number =>
  (member.serves ? 2 ** 52 : 0) + (transfer.doing === "origin" ? 2 ** 51 : 0) + Math.min(transfer.done, 2 ** 50);

/** The leader of before as long as there is hope in it. */
function keptLead(lead: Lead, orphans: readonly Asker[], { connected, now, policy }: Looking): Lead | undefined {
  const asker = orphans.find(({ id }) => id === lead.leader);
  if (asker === undefined) {
    // Connected and no longer asking: it has failed. Not connected: nobody knows.
    return connected.has(lead.leader) || now - lead.since >= policy.goneAfter ? undefined : lead;
  }
  const { done } = asker.transfer;
  if (done !== lead.done) return { ...lead, done, since: now };
  return now - lead.since < policy.slowAfter || lead.passed.includes(lead.leader) ? lead : undefined;
}

/** A leader that is still at it and makes no headway is not chosen again while there is another. */
const passedBy = (lead: Lead, orphans: readonly Asker[]): readonly NodeId[] =>
  orphans.some(({ id }) => id === lead.leader) ? [...lead.passed, lead.leader] : lead.passed;

interface Ordering {
  readonly group: Group;
  readonly lead: Lead | undefined;
  /** What the others may take from; undefined: it is not here, or gives nothing. */
  readonly leader: RingSource | undefined;
  /** Whether it is one of those that ask. If not, it may well be at the source all the same. */
  readonly isLeading: boolean;
  readonly orphans: ReadonlySet<NodeId>;
  /** Every one of them came to a halt. */
  readonly isHopeless: boolean;
}

function orderingOf(group: Group, lead: Lead | undefined): Ordering {
  const leading = group.askers.find(({ id }) => id === lead?.leader);
  const gives = leading?.member.serves === true && !group.wrong.has(leading.id);
  return {
    ...{ group, lead },
    leader: leading !== undefined && gives ? { id: leading.id, file: leading.transfer.file } : undefined,
    isLeading: leading !== undefined,
    orphans: new Set(group.orphans.map(({ id }) => id)),
    isHopeless: lead !== undefined && group.orphans.every(({ id }) => lead.passed.includes(id)),
  };
}

/** A leader that gives nothing is no reason to wait. */
const mustGo = ({ id }: Asker, { lead, isLeading, isHopeless }: Ordering, hasSource: boolean): boolean =>
  lead?.leader === id || isHopeless || (isLeading && !hasSource);

function orderFor(asker: Asker, ordering: Ordering): WantedFrom {
  const { group, lead, leader, orphans } = ordering;
  const isOrphan = orphans.has(asker.id);
  const first = isOrphan && leader !== undefined && isOfUse(asker, leader) ? [leader.id] : [];
  const partial = nearest(group.partial, asker, MOST_PARTIAL + 1).filter((id) => id !== lead?.leader);
  return {
    key: group.key,
    toOrigin: isOrphan && mustGo(asker, ordering, first.length + partial.length > 0),
    leaderDone: lead?.done ?? 0,
    sources: [...nearest(group.holders, asker, MOST_HOLDERS), ...first, ...partial.slice(0, MOST_PARTIAL)],
  };
}
