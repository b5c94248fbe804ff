import type { GapPolicy, OverlapPolicy, ScheduleRule } from "../../types";
import { type Calendar, calendarOf, countWalls, DAY, LAST_YEAR, nextWall } from "./calendar.policy";
import { type Segment, segmentAt } from "./zone.policy";

type CronRule = Extract<ScheduleRule, { type: "cron" }>;

/** No zone is further from UTC, and no zone ever moved its clock further at once. */
const FARTHEST = DAY;

export const LATEST = Date.UTC(LAST_YEAR, 11, 31, 23, 59, 59, 999);

/** An instant that an expression matches, and the clock change that affects it. All in milliseconds. */
export interface CronInstant {
  readonly at: number;
  /** The local time that the clock skipped and that this instant replaces. */
  readonly madeUpFor?: number;
  /**
   * The local time of a fixed-time schedule that the clock skipped before this instant and that the trigger leaves out.
   */
  readonly leftOut?: number;
}

interface Search {
  readonly calendar: Calendar;
  readonly timezone: string;
  readonly gap: GapPolicy;
  readonly overlap: OverlapPolicy;
}

/** A schedule whose hour field starts with `*` follows the clock; other schedules keep to local times. */
function searchOf({ expr, timezone, gap, overlap }: CronRule): Search {
  const calendar = calendarOf(expr);
  return {
    calendar,
    timezone,
    gap: gap ?? (calendar.isCadence ? "skip" : "run_after"),
    overlap: overlap ?? (calendar.isCadence ? "both" : "first"),
  };
}

/**
 * Returns the first instant after `after`, or null if there is none up to the last year.
 * @throws CronError, RangeError for a rule that is not valid here
 */
export function nextCron(rule: CronRule, after: number): CronInstant | null {
  const search = searchOf(rule);
  let leftOut: number | undefined;
  for (let t = after + 1; t <= LATEST; ) {
    const segment = segmentAt(search.timezone, t);
    const missed = t === segment.from ? missedWall(search, segment) : null;
    if (missed !== null && search.gap === "run_after") return { at: t, madeUpFor: missed };
    if (missed !== null && !search.calendar.isCadence) leftOut = missed;
    const least = t + segment.offset;
    const wall = nextWall(search.calendar, firstPass(search, segment, least));
    if (wall === null) return null;
    if (wall - segment.offset < segment.until) return { at: wall - segment.offset, leftOut };
    t = segment.until;
    // Far from the next change no local time can repeat, so no instant lies between here and the match.
    if (segment.until + segment.offset - least > 2 * FARTHEST) t = Math.max(t, wall - FARTHEST);
  }
  return null;
}

/** Counts the instants after `after` and up to `until`, inclusive. */
export function countCron(rule: CronRule, after: number, until: number): number {
  const search = searchOf(rule);
  const end = Math.min(until, LATEST) + 1;
  let count = 0;
  for (let t = after + 1; t < end; ) {
    const segment = segmentAt(search.timezone, t);
    const from = firstPass(search, segment, t + segment.offset);
    const isMadeUp = t === segment.from && search.gap === "run_after" && missedWall(search, segment) !== null;
    // A local time right after the gap and the run that replaces the gap are one instant.
    const startsWithMatch = isMadeUp && nextWall(search.calendar, from) === segment.from + segment.offset;
    count += countWalls(search.calendar, from, Math.min(segment.until, end) + segment.offset);
    if (isMadeUp && !startsWithMatch) count += 1;
    t = segment.until;
  }
  return count;
}

/**
 * Returns the clock changes after `after` and up to `until` at which a fixed-time schedule with `skip` left out a local
 * time. Leaves out changes with another instant at the same moment. Looks back a year and a half at most.
 */
export function leftOutCron(rule: CronRule, after: number, until: number): CronInstant[] {
  const search = searchOf(rule);
  if (search.gap !== "skip" || search.calendar.isCadence) return [];
  const found: CronInstant[] = [];
  for (let t = Math.max(after + 1, until - 550 * DAY); t <= until; ) {
    const segment = segmentAt(search.timezone, t);
    const missed = t === segment.from ? missedWall(search, segment) : null;
    if (missed !== null && nextCron(rule, t - 1)?.at !== t) found.push({ at: t, leftOut: missed });
    t = segment.until;
  }
  return found;
}

/** After the clock was set back, local times before its old reading occur for the second time. */
function firstPass({ overlap }: Search, segment: Segment, wall: number): number {
  return overlap === "first" ? Math.max(wall, segment.from + segment.offsetBefore) : wall;
}

/**
 * The first matching local time that the change at the segment's start skipped. A date that is skipped as a whole,
 * where a place moved over the date line, does not exist there: nothing is due on it.
 */
function missedWall({ calendar }: Search, segment: Segment): number | null {
  const [gapStart, gapEnd] = [segment.from + segment.offsetBefore, segment.from + segment.offset];
  for (let from = gapStart; from < gapEnd; ) {
    const wall = nextWall(calendar, from);
    if (wall === null || wall >= gapEnd) return null;
    const date = Math.floor(wall / DAY) * DAY;
    if (date < gapStart || date + DAY > gapEnd) return wall;
    from = date + DAY;
  }
  return null;
}

/** Describes a clock change that affects this instant; null for nearly all instants. */
export function noteOn(rule: CronRule, { at, madeUpFor, leftOut }: CronInstant): string | null {
  const segment = segmentAt(rule.timezone, at);
  if (madeUpFor !== undefined) return `${gone(madeUpFor)}, so it runs right after`;
  if (leftOut !== undefined) return `${gone(leftOut)}, so this run is skipped`;
  const wall = at + segment.offset;
  if (wall < segment.from + segment.offsetBefore) return `${clock(wall)} comes twice on ${date(wall)}: the second one`;
  if (at < segment.until - FARTHEST) return null;
  const next = segmentAt(rule.timezone, segment.until);
  const isTwice = next.from === segment.until && wall >= next.from + next.offset;
  return isTwice ? `${clock(wall)} comes twice on ${date(wall)}: the first one` : null;
}

const gone = (wall: number): string => `${clock(wall)} does not exist on ${date(wall)}: clocks go forward`;
const clock = (wall: number): string => new Date(wall).toISOString().slice(11, 16);
const date = (wall: number): string => new Date(wall).toISOString().slice(0, 10);
