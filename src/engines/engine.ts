import type { AdapterCall } from "../core/adapter.ts";
import type { EngineApi } from "../core/engine-api.ts";
import type { GangPart } from "../core/gang-part.ts";
import type { GpuUuid } from "../core/ids.ts";
import type { ModelFacts } from "../core/model-facts.ts";
import type { EngineName, Profile } from "../core/profile.ts";
import type { Result } from "../core/result.ts";
import type { EngineProbes, PythonPackage } from "./python-package.ts";
import type { MemoryRules } from "./weights/memory-rules.ts";

/** A file that a model source offers. */
export interface OfferedFile {
  /** Relative to the source, with forward slashes. */
  readonly name: string;
  /** 0 when the source does not say. */
  readonly bytes: number;
}

/** Which files of a source an engine needs, and the one it is pointed at (a folder for some engines: ""). */
export interface FileChoice {
  readonly files: readonly string[];
  readonly main: string;
}

/** A LoRA adapter: a name that clients ask for, and where its files are. */
export interface LaunchAdapter {
  readonly name: string;
  readonly path: string;
}

/** How an engine works with adapters. */
export interface AdapterRules {
  /** Which files of an adapter's source it loads. The error is a sentence that says what is missing. */
  readonly chooseFiles: (offered: readonly OfferedFile[]) => Result<FileChoice, string>;
  /** Why it cannot be told of what lies at that path, for people. Left out: it can be told of every path. */
  readonly objection?: (path: string) => string | undefined;
  /** How it is asked for one of them, or for the model without any; undefined: as the client asks. */
  readonly call: (asked: AskedAdapter) => AdapterCall | undefined;
}

export interface AskedAdapter {
  readonly serves: readonly string[];
  /** What it was started with, in the order of its launch. */
  readonly adapters: readonly string[];
  /** Its place among them; undefined: none of them. */
  readonly place: number | undefined;
}

/** Everything an engine's command line depends on. */
export interface Launch {
  readonly binary: string;
  readonly modelPath: string;
  /** Paths of everything that was chosen beside the model's main file: shards, a projector. Left out: only the main file. */
  readonly files?: readonly string[];
  readonly serves: readonly string[];
  readonly context: number | undefined;
  readonly host: string;
  readonly port: number;
  /** Of the build, such as "0.33.0", by which an engine knows what its program understands. Left out: not known. */
  readonly version?: string;
  /** Empty: this replica runs on the CPU. */
  readonly gpus: readonly GpuUuid[];
  /** Their places in the order of the bus, for programs that cannot read UUIDs. Left out: not known. */
  readonly gpuIndexes?: readonly number[];
  /** The part of each GPU's memory that is this replica's, above 0 and below 1. Left out: all of it. */
  readonly gpuShare?: number;
  /** How the model is cut. Left out: not at all. */
  readonly parallel?: { readonly tensor: number; readonly pipeline: number };
  /** This process's part of a replica that spans nodes. Left out: the replica is this one process. */
  readonly gang?: GangPart;
  readonly adapters?: readonly LaunchAdapter[];
  readonly apiKey: string;
  /** The certificate and the private key, in PEM, that it answers with. Left out: it answers without TLS. */
  readonly tls?: { readonly certFile: string; readonly keyFile: string };
  /** The profile's, passed on as they are, last. */
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** A folder of this replica's own, for whatever the engine wants to write. */
  readonly workDir: string;
  /** What the node's configuration says of this engine beside its program, by key. */
  readonly nodeOptions?: Readonly<Record<string, string>>;
}

export interface EngineCommand {
  readonly argv: readonly [string, ...string[]];
  /** The whole environment of the process: nothing is inherited. Secrets are here or in files, and never in argv. */
  readonly env: Readonly<Record<string, string>>;
  /** To be there before it starts, below the launch's own folder and readable by nobody else. */
  readonly files?: readonly EngineFile[];
}

export interface EngineFile {
  readonly path: string;
  readonly text: string;
}

/** A request to the engine's own port. */
export interface EngineRequest {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly body: string | undefined;
}

/** What an engine's end means for the replica. */
export interface ExitExplanation {
  /** For people, such as "missing library libgomp.so.1: install the package libgomp1". */
  readonly reason: string;
  /** Whether the same start could go better next time. */
  readonly retry: boolean;
  /** It ended because another rank of the replica did, or was not there. */
  readonly blamesOthers?: true;
}

export interface ExitReport {
  readonly code: number | null;
  readonly signal: string | null;
}

export interface WorkCount {
  readonly requests: number;
  readonly done: number;
}

/** An engine describes how it is started and read; the agent does the starting. Shared code asks for capabilities, never for names. */
export interface Engine {
  readonly name: EngineName;
  /** The name of its executable, as it is looked for on PATH. */
  readonly program: string;
  /** One replica of it can be several processes on as many nodes, each told its part by `Launch.gang`. */
  readonly spansNodes?: true;
  /** Whether that rank of such a replica answers requests; the others only run. Left out: it is always one process. */
  readonly servesOn?: (rank: number) => boolean;
  /** It computes on GPUs alone. */
  readonly needsGpu?: true;
  /** How it is installed, when it is a package of Python; left out by one with releases of another kind. */
  readonly python?: PythonPackage;
  /** How its program says what it is. Left out: by `--version` and `--list-devices`. */
  readonly probes?: EngineProbes;
  /** Why a build of that version cannot answer over TLS, for people. Left out: every build can. */
  readonly withoutTls?: (version: string) => string | undefined;
  /** What it loads. */
  readonly formats: readonly ModelFacts["format"][];
  /** What it can be asked for. Left out: not known; then it is asked as clients ask. */
  readonly apis?: readonly EngineApi[];
  /** Left out: it loads none. */
  readonly adapters?: AdapterRules;
  /** How it would use memory when it is started for the profile. */
  memoryRules(profile: Pick<Profile, "args" | "env" | "context">): MemoryRules;
  chooseFiles(offered: readonly OfferedFile[]): Result<FileChoice, string>;
  command(launch: Launch): EngineCommand;
  /** Answers 200 once the model is loaded. */
  healthRequest(): EngineRequest;
  /** A real piece of the work that the replica is for: a one-token completion, or one embedding. */
  proofRequest(launch: Pick<Launch, "args" | "serves">): EngineRequest;
  /** Other kinds of work, tried one after the other where the engine refuses the first: only the model says what it is for. */
  furtherProofs?(launch: Pick<Launch, "args" | "serves">): readonly EngineRequest[];
  /** Whether the answer to the proof is what it should be; otherwise why not. */
  checkProof(status: number, body: string): Result<undefined, string>;
  /** Asked once when ready: how many requests it works on at once and the context of each. */
  capacityRequest(): EngineRequest | undefined;
  readCapacity(
    body: string,
    launch?: Pick<Launch, "args">,
  ): { readonly slots: number; readonly context: number } | undefined;
  /** How its work can be followed; left out by an engine that does not tell. */
  readonly work?: {
    request(): EngineRequest;
    /** Requests that it has, and a number that grows with everything it does for any of them. */
    read(body: string): WorkCount | undefined;
  };
  /** `cpuFlags`, if given, are the machine's: they say which one an illegal instruction missed. */
  explainExit(exit: ExitReport, lastLines: readonly string[], cpuFlags?: readonly string[]): ExitExplanation;
  /** A model small enough to try a build with; undefined: this engine is tried by starting it only. */
  trialModel?(): { readonly name: string; readonly bytes: Uint8Array };
  /** The version in what the program says when it is asked for it. */
  readVersion(output: string): string | undefined;
  /** The GPUs in what the program says when it is asked for them, by the engine's own names. */
  readDevices(output: string): readonly string[];
}
