import type { Bytes, Millis } from "./ids.ts";

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"] as const;

/** 1536 → "1.5 KiB". Binary units, one decimal below 10. */
export function formatBytes(n: Bytes | number): string {
  let value = n;
  let unit = 0;
  // What would be shown as 1024 is shown as 1.0 of the next unit.
  while (Math.abs(value) >= 1023.5 && unit < UNITS.length - 1) {
    value = value / 1024;
    unit += 1;
  }
  const digits = unit === 0 || Math.abs(value) >= 9.95 ? 0 : 1;
  return `${value.toFixed(digits)} ${UNITS[unit] ?? "B"}`;
}

/** 90_000 → "1m30s"; 250 → "250ms". From a second on, what is over a whole second is left out. */
export function formatDuration(ms: Millis | number): string {
  if (Math.round(ms) < 1000) return `${String(Math.round(ms))}ms`;
  const total = Math.floor(Math.round(ms) / 1000);
  const parts = [
    [Math.floor(total / 86_400), "d"],
    [Math.floor((total % 86_400) / 3600), "h"],
    [Math.floor((total % 3600) / 60), "m"],
    [total % 60, "s"],
  ] as const;
  const shown = parts.filter(([n]) => n > 0);
  return shown.map(([n, unit]) => `${String(n)}${unit}`).join("");
}

/** The age column of tables: one unit is enough, such as 5m or 3d. */
export function formatAge(ms: Millis | number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 120) return `${String(seconds)}s`;
  if (seconds < 7200) return `${String(Math.floor(seconds / 60))}m`;
  if (seconds < 172_800) return `${String(Math.floor(seconds / 3600))}h`;
  return `${String(Math.floor(seconds / 86_400))}d`;
}
