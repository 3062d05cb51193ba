import { fingerprint } from "../core/fingerprint.ts";
import type { Millis, NodeId } from "../core/ids.ts";
import type { SharedFile, SharedTransfer, SharingReport } from "../core/sharing.ts";

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
  readonly member: SharingMember;
  readonly transfer: SharedTransfer;
}

/** All that ask for one file in one site, and all that have it there. */
interface Group {
  readonly key: string;
  readonly askers: readonly Asker[];
  readonly holders: readonly { readonly member: SharingMember; readonly file: SharedFile }[];
  readonly lead: Lead | undefined;
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
  for (const [name, group] of groupsOf(members, before)) {
    const lead = nextLead(group, { connected, now, policy });
    if (lead !== undefined) leads.set(name, lead);
    const isHopeless = lead !== undefined && orphans(group).every(({ member }) => lead.passed.includes(member.id));
    for (const asker of group.askers) {
      const order = orderFor(asker, { group, lead, isHopeless });
      wanted.set(asker.member.id, [...(wanted.get(asker.member.id) ?? []), order]);
    }
  }
  return { leads, wanted };
}

function groupsOf(members: readonly SharingMember[], before: Leads): ReadonlyMap<string, Group> {
  const nameOf = (site: string, key: string): string => `${site} ${key}`;
  const asked = Map.groupBy(
    members.flatMap((member) => member.report.transfers.map((transfer) => ({ member, transfer }))),
    ({ member, transfer }) => nameOf(member.site, transfer.file.key),
  );
  const held = Map.groupBy(
    members.flatMap((member) =>
      member.serves
        ? member.report.held.filter(({ key }) => asked.has(nameOf(member.site, key))).map((file) => ({ member, file }))
        : [],
    ),
    ({ member, file }) => nameOf(member.site, file.key),
  );
  return new Map(
    [...asked].flatMap(([name, askers]) => {
      const [first] = askers;
      if (first === undefined) return [];
      const wrong = new Set(askers.flatMap(({ transfer }) => transfer.wrong));
      const holders = (held.get(name) ?? []).filter(({ member }) => !wrong.has(member.id));
      const group = { key: first.transfer.file.key, askers, holders, lead: before.get(name) };
      return [[name, group] as const];
    }),
  );
}

/** What is not known contradicts nothing. */
const isSame = (a: SharedFile, b: SharedFile): boolean =>
  (a.sha256 === "" || b.sha256 === "" || a.sha256 === b.sha256) &&
  (a.bytes === 0 || b.bytes === 0 || a.bytes === b.bytes);

const isWithinReach = ({ member, transfer }: Asker, other: SharingMember): boolean =>
  other.id !== member.id && !transfer.unreachable.includes(other.id);

const holdersFor = (asker: Asker, group: Group): readonly NodeId[] =>
  group.holders
    .filter(({ member, file }) => isWithinReach(asker, member) && isSame(file, asker.transfer.file))
    .map(({ member }) => member.id);

const orphans = (group: Group): readonly Asker[] =>
  group.askers.filter((asker) => holdersFor(asker, group).length === 0);

interface Looking {
  readonly connected: ReadonlySet<NodeId>;
  readonly now: Millis;
  readonly policy: SharingPolicy;
}

function nextLead(group: Group, looking: Looking): Lead | undefined {
  const { lead } = group;
  const candidates = orphans(group);
  if (candidates.length === 0) return undefined;
  const kept = lead === undefined ? undefined : keptLead(lead, candidates, looking);
  if (kept !== undefined) return kept;
  const passed = lead === undefined ? [] : passedBy(lead, candidates);
  const [best] = candidates
    .filter(({ member }) => !passed.includes(member.id))
    .toSorted((a, b) => rank(b) - rank(a) || compare(a.member.id, b.member.id));
  const next = best ?? candidates[0];
  if (next === undefined) return undefined;
  return { leader: next.member.id, done: next.transfer.done, since: looking.now, passed };
}

/** One that the others can fetch from; of those the one that goes there already, else the one that has the most. */
const rank = ({ member, transfer }: Asker): number =>
  (member.serves ? 2 ** 52 : 0) + (transfer.doing === "origin" ? 2 ** 51 : 0) + Math.min(transfer.done, 2 ** 50);

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** The leader of before as long as there is hope in it. */
function keptLead(lead: Lead, candidates: readonly Asker[], { connected, now, policy }: Looking): Lead | undefined {
  const asker = candidates.find(({ member }) => member.id === lead.leader);
  if (asker === undefined) {
    // Connected and no longer asking: it has failed. Not connected: nobody knows.
    return connected.has(lead.leader) || now - lead.since >= policy.goneAfter ? undefined : lead;
  }
  const { done } = asker.transfer;
  if (done !== lead.done) return { ...lead, done, since: now };
  return now - lead.since < policy.slowAfter || lead.passed.includes(lead.leader) ? lead : undefined;
}

/** A leader that is still at it and makes no headway is not chosen again while there is another. */
const passedBy = (lead: Lead, candidates: readonly Asker[]): readonly NodeId[] =>
  candidates.some(({ member }) => member.id === lead.leader) ? [...lead.passed, lead.leader] : lead.passed;

interface Ordering {
  readonly group: Group;
  readonly lead: Lead | undefined;
  readonly isHopeless: boolean;
}

function orderFor(asker: Asker, { group, lead, isHopeless }: Ordering): WantedFrom {
  const { id } = asker.member;
  const { key } = group;
  const holders = holdersFor(asker, group);
  const isOrphan = holders.length === 0;
  const others = group.askers.filter(
    ({ member, transfer }) =>
      isWithinReach(asker, member) && member.serves && isSame(transfer.file, asker.transfer.file),
  );
  const wrong = new Set(group.askers.flatMap(({ transfer }) => transfer.wrong));
  const willing = others.filter(({ member }) => !wrong.has(member.id));
  const leader = isOrphan ? willing.filter(({ member }) => member.id === lead?.leader) : [];
  const partial = willing.filter(({ member, transfer }) => member.id !== lead?.leader && transfer.done > 0);
  const isLeading = group.askers.some(({ member }) => member.id === lead?.leader);
  const isWorthWaiting = leader.length > 0 || partial.length > 0 || !isLeading;
  return {
    key,
    // A leader that gives nothing to anyone is no reason to wait.
    toOrigin: isOrphan && (lead?.leader === id || isHopeless || !isWorthWaiting),
    leaderDone: lead?.done ?? 0,
    sources: [
      ...nearest(id, key, holders).slice(0, MOST_HOLDERS),
      ...leader.map(({ member }) => member.id),
      ...nearest(
        id,
        key,
        partial.map(({ member }) => member.id),
      ).slice(0, MOST_PARTIAL),
    ],
  };
}

/** An order of its own for each asker, and always the same: so many askers spread over all that have the file. */
const nearest = (asker: NodeId, key: string, sources: readonly NodeId[]): readonly NodeId[] =>
  sources
    .map((source) => ({ source, score: fingerprint([asker, source, key]) }))
    .toSorted((a, b) => compare(a.score, b.score))
    .map(({ source }) => source);
