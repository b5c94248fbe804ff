import { BoundedMap } from "@/lib/async/bounded-map";
import { CronError, type CronFields, type NthWeekday, readCron } from "./grammar.policy";

/**
 * Computes matching local times, counted as if the local clock were UTC: milliseconds since 1970-01-01T00:00 on that
 * clock ("wall"). Time zones are applied in cron.policy.ts.
 */

const MINUTE = 60_000;
const MINUTES_A_DAY = 1440;
export const DAY = MINUTES_A_DAY * MINUTE;

/** The last year that is searched; RFC 3339 ends there too. */
export const LAST_YEAR = 9999;

/** A compiled expression: what it matches on a clock that never changes. */
export interface Calendar {
  readonly fields: CronFields;
  /** True if the hour field starts with `*`. Such a schedule follows the clock through its changes. */
  readonly isCadence: boolean;
  readonly hasMonth: readonly boolean[];
  /** Indexed by days in the month (28 to 31) and weekday of the first; bit d−1 stands for day d. */
  readonly dayMasks: readonly number[];
}

const compiled = new BoundedMap<string, Calendar>(4096);

/** Compiles an expression. @throws CronError also if the expression is well-formed but no date matches it */
export const calendarOf = (expr: string): Calendar => compiled.getOrMake(expr, compile);

function compile(expr: string): Calendar {
  const fields = readCron(expr);
  const dayMasks: number[] = [];
  for (let length = 28; length <= 31; length += 1) {
    for (let first = 0; first < 7; first += 1) dayMasks.push(dayMask(fields, length, first));
  }
  const hasMonth = Array.from({ length: 12 }, (_, month) => fields.months.includes(month + 1));
  const calendar = { fields, isCadence: fields.texts[1].startsWith("*"), hasMonth, dayMasks };
  if (!everOccurs(calendar)) throw new CronError("never", "never occurs: no date matches it");
  return calendar;
}

const LONGEST = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** Exact, because within 400 years each month starts on each weekday, February in leap years too. */
function everOccurs({ hasMonth, dayMasks }: Calendar): boolean {
  return hasMonth.some((is, month) => {
    if (!is) return false;
    const length = LONGEST[month] ?? 31;
    const lengths = month === 1 ? [28, 29] : [length];
    return lengths.some((days) => [0, 1, 2, 3, 4, 5, 6].some((first) => maskAt(dayMasks, days, first) !== 0));
  });
}

/** If both day fields are given, either suffices. If one of them is a bare `*`, the other decides. */
function dayMask(fields: CronFields, length: number, first: number): number {
  const all = length === 31 ? 0x7fffffff : (1 << length) - 1;
  const [, , dayOfMonth, , dayOfWeek] = fields.texts;
  if (dayOfMonth === "*" && dayOfWeek === "*") return all;
  const byDate = fields.daysOfMonth.reduce((mask, day) => mask | bit(day), fields.lastDay ? bit(length) : 0) & all;
  let byWeekday = 0;
  for (let day = 1; day <= length; day += 1) if (isWeekday(fields, day, { length, first })) byWeekday |= bit(day);
  if (dayOfWeek === "*") return byDate;
  return dayOfMonth === "*" ? byWeekday : byDate | byWeekday;
}

function isWeekday(fields: CronFields, day: number, month: { readonly length: number; readonly first: number }) {
  const weekday = (month.first + day - 1) % 7;
  const isNth = ({ nth }: NthWeekday): boolean =>
    nth === "last" ? day + 7 > month.length : Math.ceil(day / 7) === nth;
  return fields.daysOfWeek.includes(weekday) || fields.nthWeekdays.some((n) => n.weekday === weekday && isNth(n));
}

const bit = (day: number): number => 1 << (day - 1);

const maskAt = (masks: readonly number[], length: number, first: number): number =>
  masks[(length - 28) * 7 + first] ?? 0;

/** Returns the first matching wall time at or after `wall`; null if there is none up to the last year. */
export function nextWall(calendar: Calendar, wall: number): number | null {
  const from = Math.ceil(wall / MINUTE);
  const day = Math.floor(from / MINUTES_A_DAY);
  const found = nextDay(calendar, day);
  if (found === null) return null;
  const slot = nextSlot(calendar, found === day ? from - day * MINUTES_A_DAY : 0);
  if (slot !== null) return (found * MINUTES_A_DAY + slot) * MINUTE;
  const later = nextDay(calendar, found + 1);
  return later === null ? null : (later * MINUTES_A_DAY + (nextSlot(calendar, 0) ?? 0)) * MINUTE;
}

/** Counts the wall times that match from `from` on and before `until`. */
export function countWalls(calendar: Calendar, from: number, until: number): number {
  const first = Math.ceil(from / MINUTE);
  const end = Math.ceil(until / MINUTE);
  if (end <= first) return 0;
  const firstDay = Math.floor(first / MINUTES_A_DAY);
  const endDay = Math.floor(end / MINUTES_A_DAY);
  const perDay = calendar.fields.hours.length * calendar.fields.minutes.length;
  const before = (day: number, minute: number): number =>
    isDay(calendar, day) ? slotsBefore(calendar, minute - day * MINUTES_A_DAY) : 0;
  return countDays(calendar, firstDay, endDay) * perDay - before(firstDay, first) + before(endDay, end);
}

/** The first matching minute of the day at or after `minute`. */
function nextSlot({ fields }: Calendar, minute: number): number | null {
  const hour = Math.floor(minute / 60);
  for (const candidate of fields.hours) {
    if (candidate < hour) continue;
    const least = candidate === hour ? minute - hour * 60 : 0;
    const found = fields.minutes.find((value) => value >= least);
    if (found !== undefined) return candidate * 60 + found;
  }
  return null;
}

function slotsBefore({ fields }: Calendar, minute: number): number {
  const hour = Math.floor(minute / 60);
  const whole = fields.hours.filter((value) => value < hour).length * fields.minutes.length;
  return fields.hours.includes(hour)
    ? whole + fields.minutes.filter((value) => value < minute - hour * 60).length
    : whole;
}

interface Month {
  readonly year: number;
  readonly month: number;
  /** Day number of its first day. */
  readonly start: number;
  readonly length: number;
}

function monthOf(year: number, month: number): Month {
  const start = Date.UTC(year, month, 1) / DAY;
  return { year, month, start, length: Date.UTC(year, month + 1, 1) / DAY - start };
}

const monthAfter = ({ year, month }: Month): Month => (month === 11 ? monthOf(year + 1, 0) : monthOf(year, month + 1));

function monthWith(day: number): Month {
  const date = new Date(day * DAY);
  return monthOf(date.getUTCFullYear(), date.getUTCMonth());
}

/** Day 0, 1970-01-01, was a Thursday. */
const weekdayOf = (day: number): number => (((day + 4) % 7) + 7) % 7;

function daysIn(calendar: Calendar, { month, start, length }: Month): number {
  return calendar.hasMonth[month] ? maskAt(calendar.dayMasks, length, weekdayOf(start)) : 0;
}

function isDay(calendar: Calendar, day: number): boolean {
  const month = monthWith(day);
  return (daysIn(calendar, month) & bit(day - month.start + 1)) !== 0;
}

/**
 * The first matching day from `day` on. Searches at most 400 years of months, because any valid expression
 * occurs in them.
 */
function nextDay(calendar: Calendar, day: number): number | null {
  let month = monthWith(day);
  let mask = daysIn(calendar, month) & (-1 << (day - month.start));
  while (mask === 0) {
    month = monthAfter(month);
    if (month.year > LAST_YEAR) return null;
    mask = daysIn(calendar, month);
  }
  return month.start + (31 - Math.clz32(mask & -mask));
}

function countDays(calendar: Calendar, from: number, until: number): number {
  let count = 0;
  for (let month = monthWith(from); month.start < until; month = monthAfter(month)) {
    let mask = daysIn(calendar, month);
    if (from > month.start) mask &= -1 << (from - month.start);
    if (until < month.start + month.length) mask &= (1 << (until - month.start)) - 1;
    count += ones(mask);
  }
  return count;
}

function ones(mask: number): number {
  let count = 0;
  for (let rest = mask; rest !== 0; rest &= rest - 1) count += 1;
  return count;
}
