import { randomUUID } from "node:crypto";
import {
  cgroupMembers,
  findCgroups,
  joinCgroup,
  killCgroup,
  memoryKills,
  removeCgroup,
  sweepCgroups,
  systemMemoryKills,
} from "../platform/cgroup.ts";
import { readTextIfThere, removeIfThere, writeFileAtomic } from "../platform/files.ts";
import { callMeeting, openMeeting } from "../platform/meeting.ts";
import { portOwner } from "../platform/port-owner.ts";
import {
  findByEnvironment,
  listProcesses,
  lookAtProcess,
  readArguments,
  readBootId,
  readEnvironment,
} from "../platform/proc.ts";
import { exitedAt, readExitStatus, signalGroup, signalProcess, spawnDetached } from "../platform/process.ts";
import { listFolders, makePrivateFolder, setAside } from "../platform/subfolders.ts";
import { cutLog, logSize, readTail, readTailAcrossCut, setAsideIfLarge } from "../platform/text-log.ts";
import { machineCpuFlags } from "./install/probe.ts";
import { identifyModel } from "./model-identity.ts";
import { askEngine } from "./probe.ts";

/** Everything that a replica's life asks of the machine and does to it. */
export interface Machine {
  readonly newLaunchId: () => string;
  readonly cpuFlags: typeof machineCpuFlags;
  readonly readBootId: typeof readBootId;

  readonly listProcesses: typeof listProcesses;
  readonly lookAtProcess: typeof lookAtProcess;
  readonly findByEnvironment: typeof findByEnvironment;
  readonly readArguments: typeof readArguments;
  readonly readEnvironment: typeof readEnvironment;
  readonly spawnDetached: typeof spawnDetached;
  readonly signalGroup: typeof signalGroup;
  readonly signalProcess: typeof signalProcess;
  readonly readExitStatus: typeof readExitStatus;
  readonly exitedAt: typeof exitedAt;

  readonly joinCgroup: typeof joinCgroup;
  readonly findCgroups: typeof findCgroups;
  readonly cgroupMembers: typeof cgroupMembers;
  readonly killCgroup: typeof killCgroup;
  readonly removeCgroup: typeof removeCgroup;
  readonly sweepCgroups: typeof sweepCgroups;
  readonly memoryKills: typeof memoryKills;
  readonly systemMemoryKills: typeof systemMemoryKills;

  readonly readText: typeof readTextIfThere;
  readonly writeFile: typeof writeFileAtomic;
  readonly remove: typeof removeIfThere;
  readonly listFolders: typeof listFolders;
  readonly setAside: typeof setAside;
  readonly makePrivateFolder: typeof makePrivateFolder;
  readonly identifyModel: typeof identifyModel;
  readonly logSize: typeof logSize;
  readonly cutLog: typeof cutLog;
  readonly setLogAsideIfLarge: typeof setAsideIfLarge;
  readonly readTail: typeof readTail;
  readonly readTailAcrossCut: typeof readTailAcrossCut;

  readonly portOwner: typeof portOwner;
  readonly openMeeting: typeof openMeeting;
  readonly callMeeting: typeof callMeeting;
  readonly askEngine: typeof askEngine;
}

export const THIS_MACHINE: Machine = {
  newLaunchId: randomUUID,
  cpuFlags: machineCpuFlags,
  readBootId,
  listProcesses,
  lookAtProcess,
  findByEnvironment,
  readArguments,
  readEnvironment,
  spawnDetached,
  signalGroup,
  signalProcess,
  readExitStatus,
  exitedAt,
  joinCgroup,
  findCgroups,
  cgroupMembers,
  killCgroup,
  removeCgroup,
  sweepCgroups,
  memoryKills,
  systemMemoryKills,
  readText: readTextIfThere,
  writeFile: writeFileAtomic,
  remove: removeIfThere,
  listFolders,
  setAside,
  makePrivateFolder,
  identifyModel,
  logSize,
  cutLog,
  setLogAsideIfLarge: setAsideIfLarge,
  readTail,
  readTailAcrossCut,
  portOwner,
  openMeeting,
  callMeeting,
  askEngine,
};
