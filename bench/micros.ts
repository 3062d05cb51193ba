/** Of the machine's monotonic clock, which is the same in every process. */
export function microsNow(): number {
  const [seconds, nanos] = process.hrtime();
  return seconds * 1e6 + Math.floor(nanos / 1000);
}
