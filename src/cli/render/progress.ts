import { formatBytes, formatDuration } from "../../core/format.ts";
import { oneLine } from "./text.ts";

/** How far a download or an installation is; the wire's Progress fits. */
export interface ProgressView {
  readonly what: string;
  readonly bytesDone: number;
  /** 0: unknown. */
  readonly bytesTotal: number;
  readonly bytesPerSecond: number;
}

const BAR = 24;

/** `████░░░░  45%  44 MiB of 98 MiB  12 MiB/s  4s left`, as much of it as is known. */
export function progressText(progress: ProgressView, options: { readonly bar: boolean }): string {
  const { bytesDone, bytesTotal, bytesPerSecond } = progress;
  const parts: string[] = [];
  if (bytesTotal > 0) {
    const share = Math.min(1, bytesDone / bytesTotal);
    if (options.bar) parts.push(bar(share));
    parts.push(
      `${String(Math.floor(share * 100)).padStart(3)}%`,
      `${formatBytes(bytesDone)} of ${formatBytes(bytesTotal)}`,
    );
  } else if (bytesDone > 0) {
    parts.push(formatBytes(bytesDone));
  }
  if (bytesPerSecond > 0) parts.push(`${formatBytes(bytesPerSecond)}/s`);
  const left = secondsLeft(progress);
  if (left !== undefined) parts.push(`${formatDuration(left * 1000)} left`);
  return [oneLine(progress.what), ...parts].join("  ");
}

function bar(share: number): string {
  const full = Math.round(share * BAR);
  return "█".repeat(full) + "░".repeat(BAR - full);
}

/** Undefined when the total or the rate is unknown, or when nothing is left. */
function secondsLeft({ bytesDone, bytesTotal, bytesPerSecond }: ProgressView): number | undefined {
  const missing = bytesTotal - bytesDone;
  if (bytesTotal <= 0 || bytesPerSecond <= 0 || missing <= 0) return undefined;
  return Math.ceil(missing / bytesPerSecond);
}
