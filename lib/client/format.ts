export type TimeZoneChoice = "local" | "utc";

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const YEAR = 365 * DAY;
const pad = (value: number) => String(value).padStart(2, "0");

/** Formats a duration: `340 ms`, `4.2 s`, `1m 03s`, `2h 05m`, `3d 04h`. Never negative. */
export function formatDuration(milliseconds: number): string {
  const ms = Math.max(0, milliseconds);
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const seconds = Math.floor(ms / 1000);
  if (seconds < 10) return `${(Math.floor(ms / 100) / 10).toFixed(1)} s`;
  if (seconds < MINUTE) return `${seconds} s`;
  if (seconds < HOUR) return `${Math.floor(seconds / MINUTE)}m ${pad(seconds % MINUTE)}s`;
  if (seconds < DAY) return `${Math.floor(seconds / HOUR)}h ${pad(Math.floor((seconds % HOUR) / MINUTE))}m`;
  return `${Math.floor(seconds / DAY)}d ${pad(Math.floor((seconds % DAY) / HOUR))}h`;
}

/** Formats an age or delay in whole units: `4 s`, `12 min`, `3 h`, `5 d`, `2 y`. */
export function formatAge(totalSeconds: number): string {
  const seconds = Math.max(0, Math.floor(totalSeconds));
  if (seconds < MINUTE) return `${seconds} s`;
  if (seconds < HOUR) return `${Math.floor(seconds / MINUTE)} min`;
  if (seconds < 2 * DAY) return `${Math.floor(seconds / HOUR)} h`;
  if (seconds < 2 * YEAR) return `${Math.floor(seconds / DAY)} d`;
  return `${Math.floor(seconds / YEAR)} y`;
}

/** Formats an instant relative to another: `4 s ago`, `in 12 min`, `now`. */
export function formatRelative(instantMs: number, nowMs: number): string {
  const difference = instantMs - nowMs;
  if (Math.abs(difference) < 1000) return "now";
  const age = formatAge(Math.abs(difference) / 1000);
  return difference < 0 ? `${age} ago` : `in ${age}`;
}

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** Formats an instant as `28 Nov 2026, 02:10:12 UTC`; the same on every machine. */
export function formatUtc(instant: string): string {
  const date = new Date(instant);
  if (Number.isNaN(date.getTime())) return instant;
  const day = `${date.getUTCDate()} ${MONTHS[date.getUTCMonth()]} ${date.getUTCFullYear()}`;
  return `${day}, ${pad(date.getUTCHours())}:${pad(date.getUTCMinutes())}:${pad(date.getUTCSeconds())} UTC`;
}

/** The same in the browser's zone, with the zone's short name. Browser only. */
export function formatLocal(instant: string): string {
  const date = new Date(instant);
  if (Number.isNaN(date.getTime())) return instant;
  const day = `${date.getDate()} ${MONTHS[date.getMonth()]} ${date.getFullYear()}`;
  return `${day}, ${pad(date.getHours())}:${pad(date.getMinutes())}:${pad(date.getSeconds())} ${zoneName(date)}`;
}

function zoneName(date: Date): string {
  const parts = new Intl.DateTimeFormat("en", { timeZoneName: "short" }).formatToParts(date);
  return parts.find((part) => part.type === "timeZoneName")?.value ?? "local";
}

/** Formats a size in binary units: `12 B`, `3.4 KiB`, `1.2 GiB`. */
export function formatBytes(bytes: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}

/** Formats a count as `1,234`; the same on every machine. */
export function formatCount(value: number): string {
  return String(Math.trunc(value)).replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${formatCount(count)} ${count === 1 ? one : many}`;
}
