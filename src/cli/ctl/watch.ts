import { millis } from "../../core/ids.ts";
import { pause, systemClock } from "../../platform/clock.ts";
import type { Call } from "../command.ts";
import { interrupted } from "../interrupted.ts";
import { canRedraw } from "../io.ts";
import { Redraw } from "../redraw.ts";
import { frame } from "../render/frame.ts";
import { LOSS, patientAsker, tellLoss } from "./connection-loss.ts";
import { outputOf } from "./output.ts";

const WATCH_EVERY = millis(1000);

/** Whether a watch is drawn in place: a table on a terminal is, and what goes into a pipe is a log of changes. */
export const isDrawn = (call: Call): boolean =>
  ["table", "wide"].includes(outputOf(call)) && canRedraw(call.io.stdout, call.io.env);

interface Drawn<T> {
  readonly ask: (signal: AbortSignal) => Promise<T>;
  readonly page: (answer: T) => string;
}

/** Asks again and again, and draws the answer over the one before until Ctrl-C. The last one stays. */
export async function drawAgain<T>(call: Call, { ask, page }: Drawn<T>): Promise<number> {
  const redraw = new Redraw(call.io.stdout);
  let last = "";
  const draw = (): void => {
    redraw.show(frame(last, redraw.rows));
  };
  const onLoss = (): void => {
    last = `${LOSS}\n${last}`;
    draw();
  };
  await askAgain(onLoss, ask, (answer) => {
    last = page(answer);
    draw();
  });
  return 0;
}

/** Asks again and again, and hands each answer on until Ctrl-C. */
export async function logAgain<T>(
  call: Call,
  ask: (signal: AbortSignal) => Promise<T>,
  onAnswer: (answer: T) => void,
): Promise<number> {
  const onLoss = (): void => {
    tellLoss(call.io);
  };
  await askAgain(onLoss, ask, onAnswer);
  return 0;
}

async function askAgain<T>(
  onLoss: () => void,
  ask: (signal: AbortSignal) => Promise<T>,
  onAnswer: (answer: T) => void,
): Promise<void> {
  const stop = interrupted();
  const patiently = patientAsker({ stop, onLoss });
  while (!stop.aborted) {
    const answer = await patiently(() => ask(stop));
    if (answer === undefined) break;
    onAnswer(answer);
    await pause(systemClock, WATCH_EVERY, stop);
  }
}
