import type { GetRolloutResponse, Revision } from "../../wire/gen/llmgw/v1/changing_pb.js";
import { ageOf, type Looking } from "./columns.ts";
import { type Column, table } from "./table.ts";
import { oneLine } from "./text.ts";

/** One sentence on how it stands, then the profile's revisions, the present one last. */
export function rolloutPage(rollout: GetRolloutResponse, looking: Looking): string {
  const { colours, width } = looking;
  const paint = { complete: colours.green, broken: colours.red }[rollout.state] ?? colours.yellow;
  const shown = table(columns(looking), rollout.revisions, { width, colours });
  return `${rollout.profile}: ${paint(oneLine(rollout.sentence))}\n\n${shown}`;
}

const columns = ({ now }: Looking): readonly Column<Revision>[] => [
  { header: "REVISION", cell: ({ number }) => String(number), right: true },
  { header: "AGE", cell: ({ at }) => ageOf(at, now), right: true, ticks: true },
  { header: "BY", cell: ({ origin }) => origin },
  { header: "OUTCOME", cell: ({ outcome }) => outcome },
  { header: "WHY", cell: ({ why }) => why },
];
