import { formatBytes } from "../../core/format.ts";
import type { InstalledEngine, NodeWeights } from "../../wire/gen/llmgw/v1/operating_pb.js";
import { type Looking, stateColour } from "./columns.ts";
import { progressText } from "./progress.ts";
import type { Column } from "./table.ts";

export const engineColumns = (): readonly Column<InstalledEngine>[] => [
  { header: "NODE", cell: ({ node }) => node },
  { header: "ENGINE", cell: ({ build }) => build?.name ?? "" },
  { header: "VERSION", cell: ({ build }) => build?.version ?? "" },
  { header: "ORIGIN", cell: ({ build }) => build?.origin ?? "" },
  { header: "DEVICES", cell: ({ build }) => (build?.devices ?? []).join(",") },
  { header: "REPLICAS", cell: ({ replicas }) => replicas.join(",") },
  { header: "PATH", cell: ({ build }) => build?.path ?? "", wide: true },
];

export const weightsColumns = ({ colours }: Looking): readonly Column<NodeWeights>[] => [
  { header: "NODE", cell: ({ node }) => node },
  { header: "STATE", cell: ({ state }) => state, colour: ({ state }) => stateColour(state, colours) },
  { header: "SIZE", cell: sizeWords, right: true },
  { header: "PROFILES", cell: ({ profiles }) => profiles.join(",") },
  { header: "SOURCE", cell: ({ source }) => source },
  {
    header: "PROGRESS",
    cell: ({ progress }) => (progress === undefined ? "" : progressText(progress, { bar: false })),
  },
  { header: "FROM", cell: ({ from }) => from.join(",") },
  { header: "PATH", cell: ({ path }) => path, wide: true },
];

const sizeWords = ({ bytes, progress }: NodeWeights): string => {
  const whole = progress?.bytesTotal ?? bytes;
  return whole === 0 ? "" : formatBytes(whole);
};
