// Plays the seeds that it is sent, one after the other, and answers with how each went.
import { parentPort } from "node:worker_threads";
import { simulate } from "./simulate.ts";

parentPort?.on("message", (seed: number) => {
  // What happened in it is too much to be sent, and can be had by playing it again.
  void simulate(seed).then((outcome) => parentPort?.postMessage({ ...outcome, trace: [] }));
});
