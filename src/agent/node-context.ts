import type { DesiredReplica } from "../core/desired.ts";
import type { Bytes, GpuUuid, Millis, ReplicaId } from "../core/ids.ts";
import type { MeasuredMemory } from "../core/measured-memory.ts";
import type { EngineBuild, FabricPort, Gpu } from "../core/node.ts";
import type { Progress } from "../core/replica-state.ts";
import type { Result } from "../core/result.ts";
import type { Engine, LaunchAdapter } from "../engines/engine.ts";
import type { Clock } from "../platform/clock.ts";
import type { InterfaceAddress } from "../platform/route.ts";
import type { Logger } from "../platform/logger.ts";
import type { HangPolicy } from "../reconcile/hang.ts";
import type { AttemptEnd } from "../reconcile/supervision.ts";
import type { Machine } from "./machine.ts";
import type { PortBook } from "./port-book.ts";

/** An engine and a model that are whole on this machine. */
export interface Prepared {
  readonly engine: Engine;
  readonly build: EngineBuild;
  readonly modelPath: string;
  /** Everything that was chosen beside the model's main file, with whole paths. */
  readonly files: readonly string[];
  /** Of all of them; their names are counted from it. */
  readonly folder: string;
  /** Left out: none. */
  readonly adapters?: readonly LaunchAdapter[];
}

/** Gets the engine and the weights of a replica onto the machine. */
export type Prepare = (
  replica: DesiredReplica,
  options: { readonly onProgress: (progress: Progress) => void; readonly signal: AbortSignal },
) => Promise<Result<Prepared, AttemptEnd>>;

/** What every replica of a node shares. */
export interface NodeContext {
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  readonly machine: Machine;
  readonly workDir: string;
  readonly bootId: string;
  readonly prepare: Prepare;
  /** The adapter of an engine that a record names; undefined when this version knows none of that name. */
  readonly engineOf: (name: string) => Engine | undefined;
  /** What this node's configuration says of an engine beside its program, by key. */
  readonly engineOptions: (engine: string) => Readonly<Record<string, string>>;
  /** Whether engines answer over TLS. */
  readonly engineTls: boolean;
  /** This machine's GPUs, as they were last found. */
  readonly gpus: () => readonly Gpu[];
  readonly ports: PortBook;
  /** Where others reach this node; undefined when nobody can. */
  readonly address: () => string | undefined;
  /** This machine's own addresses, each with its interface. */
  readonly interfaces: () => readonly InterfaceAddress[];
  /** What was found of the fabric of that name; none when nothing was. */
  readonly fabricPorts: (fabric: string) => readonly FabricPort[];
  /** Whether an address is one of this machine's own, so that it can be listened on. */
  readonly isLocal: (address: string) => boolean;
  readonly stopTimeout: Millis;
  readonly healthInterval: Millis;
  /** Where control groups for engines can be made; none is an answer. */
  readonly cgroupHomes: () => Promise<readonly string[]>;
  /** When an engine that has work and does none of it is held to be hung. */
  readonly hangPolicy: HangPolicy;
  /** Bytes that an engine's log may grow to before its older part is put aside. */
  readonly logLimit: Bytes;
  /** Those of the pids that the driver says hold memory of one of the GPUs. */
  readonly gpuHolders: (gpus: readonly GpuUuid[], pids: ReadonlySet<number>) => Promise<readonly number[]>;
  /** What the processes hold of this machine's memory and of the GPUs. Left out: nobody measures. */
  readonly measure?: (pids: readonly number[], gpus: readonly GpuUuid[]) => Promise<MeasuredMemory | undefined>;
  /** Lines of output that a failure is explained by. */
  readonly logLines: number;
  /** Something about the replica changed that others may want to know. */
  readonly onChange: (id: ReplicaId) => void;
}
