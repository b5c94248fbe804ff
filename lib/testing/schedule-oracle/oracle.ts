/*
 * Finds when a cron schedule is due the slow way: minute by minute, by the time that a wall clock shows. Shares no code
 * with the engine that it is compared with: it parses expressions itself, and asks Intl for offsets instead of local
 * times.
 */

export interface OracleRule {
  readonly expr: string;
  readonly gap: "run_after" | "skip" | null;
  readonly overlap: "first" | "both" | null;
}

/** What a wall clock shows at one minute. */
interface Reading {
  /** Minutes since 1970-01-01T00:00 on that clock. */
  readonly wall: number;
  readonly minute: number;
  readonly hour: number;
  readonly day: number;
  readonly month: number;
  readonly weekday: number;
  readonly daysInMonth: number;
}

/** What a zone's clock shows at the start of a minute, and how it got there. */
interface Minute {
  readonly at: number;
  readonly reading: Reading;
  /** True if the clock has shown the same before. */
  readonly isSecond: boolean;
  /** Readings that the clock skipped to get here; usually none. */
  readonly jumpedOver: readonly Reading[];
}

export interface Window {
  readonly zone: string;
  readonly minutes: readonly Minute[];
}

export interface Occurrence {
  readonly at: number;
  readonly wall: number;
  readonly isMadeUp: boolean;
}

const MINUTE = 60_000;
const MINUTES_A_DAY = 1440;

/** Reads the clock of a zone once a minute, from `from` and before `until` (milliseconds, whole minutes). */
export function watch(zone: string, from: number, until: number): Window {
  const offsetAt = offsetsOf(zone);
  const walls = Array.from(
    { length: (until - from) / MINUTE },
    (_, n) => from / MINUTE + n + offsetAt(from + n * MINUTE),
  );
  // A date without a single minute did not exist in the zone, so none of it was skipped.
  const dates = new Set(walls.map(dateOf));
  const seen = new Set<number>();
  const minutes = walls.map((wall, n) => {
    const isSecond = seen.has(wall);
    seen.add(wall);
    const jumpedOver = missing(walls[n - 1] ?? wall, wall).filter((one) => dates.has(dateOf(one)));
    return { at: from + n * MINUTE, reading: readingOf(wall), isSecond, jumpedOver: jumpedOver.map(readingOf) };
  });
  return { zone, minutes };
}

const dateOf = (wall: number): number => Math.floor(wall / MINUTES_A_DAY);

const missing = (before: number, wall: number): number[] =>
  Array.from({ length: Math.max(0, wall - before - 1) }, (_, n) => before + 1 + n);

/** Returns local time minus UTC in minutes, from texts such as GMT-03:30. */
export function offsetsOf(zone: string): (instant: number) => number {
  const format = new Intl.DateTimeFormat("en-GB", { timeZone: zone, timeZoneName: "longOffset", hour: "2-digit" });
  return (instant) => {
    const [, sign, hours = "0", minutes = "0"] = /GMT(?:([+-])(\d\d):(\d\d))?$/.exec(format.format(instant)) ?? [];
    return (sign === "-" ? -1 : 1) * (Number(hours) * 60 + Number(minutes));
  };
}

function readingOf(wall: number): Reading {
  const date = new Date(wall * MINUTE);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  return {
    wall,
    minute: date.getUTCMinutes(),
    hour: date.getUTCHours(),
    day: date.getUTCDate(),
    month: month + 1,
    weekday: date.getUTCDay(),
    daysInMonth: new Date(Date.UTC(year, month + 1, 0)).getUTCDate(),
  };
}

/** Returns all instants of a rule within a window. */
export function occurrencesIn(window: Window, rule: OracleRule): Occurrence[] {
  const matches = readExpression(rule.expr);
  const isCadence = rule.expr.startsWith("@hourly") || rule.expr.split(" ")[1]?.startsWith("*") === true;
  const gap = rule.gap ?? (isCadence ? "skip" : "run_after");
  const overlap = rule.overlap ?? (isCadence ? "both" : "first");
  const found: Occurrence[] = [];
  for (const { at, reading, isSecond, jumpedOver } of window.minutes) {
    const isMadeUp = gap === "run_after" && jumpedOver.some(matches);
    const isDue = matches(reading) && !(isSecond && overlap === "first");
    if (isMadeUp || isDue) found.push({ at, wall: reading.wall, isMadeUp });
  }
  return found;
}

const ALIASES: Record<string, string> = {
  "@hourly": "0 * * * *",
  "@daily": "0 0 * * *",
  "@midnight": "0 0 * * *",
  "@weekly": "0 0 * * 0",
  "@monthly": "0 0 1 * *",
  "@yearly": "0 0 1 1 *",
  "@annually": "0 0 1 1 *",
};

const WEEKDAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const MONTHS = ["", "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

function readExpression(expr: string): (reading: Reading) => boolean {
  const [minutes = "", hours = "", days = "", months = "", weekdays = ""] = (ALIASES[expr] ?? expr).split(" ");
  const inMinutes = membersOf(minutes, 0, 59, []);
  const inHours = membersOf(hours, 0, 23, []);
  const inMonths = membersOf(months, 1, 12, MONTHS);
  const onDay = dayTest(days);
  const onWeekday = weekdayTest(weekdays);
  return (reading) => {
    if (!inMinutes.has(reading.minute) || !inHours.has(reading.hour) || !inMonths.has(reading.month)) return false;
    if (days === "*") return onWeekday(reading);
    return weekdays === "*" ? onDay(reading) : onDay(reading) || onWeekday(reading);
  };
}

function dayTest(field: string): (reading: Reading) => boolean {
  const items = field.split(",");
  const members = membersOf(items.filter((item) => item !== "L").join(","), 1, 31, []);
  return ({ day, daysInMonth }) => members.has(day) || (items.includes("L") && day === daysInMonth);
}

function weekdayTest(field: string): (reading: Reading) => boolean {
  const items = field.split(",");
  const members = membersOf(items.filter((item) => !/L$|#/.test(item)).join(","), 0, 7, WEEKDAYS);
  const counted = items
    .filter((item) => /L$|#/.test(item))
    .map((item) => {
      const [name = "", nth] = item.endsWith("L") ? [item.slice(0, -1), "L"] : item.split("#");
      return { weekday: numberOf(name, WEEKDAYS) % 7, nth };
    });
  return ({ weekday, day, daysInMonth }) =>
    members.has(weekday) ||
    (weekday === 0 && members.has(7)) ||
    counted.some((one) => {
      if (one.weekday !== weekday) return false;
      return one.nth === "L" ? day > daysInMonth - 7 : day > 7 * (Number(one.nth) - 1) && day <= 7 * Number(one.nth);
    });
}

function membersOf(field: string, min: number, max: number, names: readonly string[]): Set<number> {
  const members = new Set<number>();
  for (const item of field.split(",")) {
    if (item === "") continue;
    const [range = "", step = "1"] = item.split("/");
    const [from = "", to = from] = range === "*" ? [String(min), String(max)] : range.split("-");
    // A range of weekdays that ends on Sunday ends on day 7.
    const end = names === WEEKDAYS && from !== to && to.toLowerCase() === "sun" ? 7 : numberOf(to, names);
    for (let value = numberOf(from, names); value <= end; value += Number(step)) members.add(value);
  }
  return members;
}

function numberOf(text: string, names: readonly string[]): number {
  const index = names.indexOf(text.toLowerCase());
  return index >= 0 ? index : Number(text);
}
