import type { GapPolicy, OverlapPolicy, ScheduleRule } from "../../types";
import { type Calendar, calendarOf, countWalls, DAY, LAST_YEAR, nextWall } from "./calendar.policy";
import { type Segment, segmentAt } from "./zone.policy";

type CronRule = Extract<ScheduleRule, { type: "cron" }>;

/** No zone is further from UTC than that, or ever moved its clock further at once. */
const FARTHEST = DAY;

export const LATEST = Date.UTC(LAST_YEAR, 11, 31, 23, 59, 59, 999);

/** An instant that an expression matches, and what clock change had a part in it. All in milliseconds. */
export interface CronInstant {
  readonly at: number;
  /** It makes up for this local time, which the clock left out. */
  readonly madeUpFor?: number;
  /** Local times of a fixed-time schedule that were left out on the way to it, by the trigger's own wish. */
  readonly leftOut?: number;
}

interface Search {
  readonly calendar: Calendar;
  readonly timezone: string;
  readonly gap: GapPolicy;
  readonly overlap: OverlapPolicy;
}

/** A schedule whose hour field starts with `*` goes with the clock as it is; the others keep to local times. */
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
 * The first instant after `after`, or null if there is none up to the last year.
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
    // Far from the next change, no local time can come back, so nothing lies between here and the match.
    if (segment.until + segment.offset - least > 2 * FARTHEST) t = Math.max(t, wall - FARTHEST);
  }
  return null;
}

/** How many instants lie after `after` and up to `until`, that one included. */
export function countCron(rule: CronRule, after: number, until: number): number {
  const search = searchOf(rule);
  const end = Math.min(until, LATEST) + 1;
  let count = 0;
  for (let t = after + 1; t < end; ) {
    const segment = segmentAt(search.timezone, t);
    const from = firstPass(search, segment, t + segment.offset);
    const isMadeUp = t === segment.from && search.gap === "run_after" && missedWall(search, segment) !== null;
    // A local time that follows right upon the gap, and the run that makes up for it, are one instant.
    const startsWithMatch = isMadeUp && nextWall(search.calendar, from) === segment.from + segment.offset;
    count += countWalls(search.calendar, from, Math.min(segment.until, end) + segment.offset);
    if (isMadeUp && !startsWithMatch) count += 1;
    t = segment.until;
  }
  return count;
}

/**
 * The changes after `after` and up to `until` by which a fixed-time schedule lost a local time, as its `skip` has it, with
 * nothing else due at that very instant. Looks back a year and a half at most.
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

/** Where the clock was put back, the local times before its old reading are there for the second time. */
function firstPass({ overlap }: Search, segment: Segment, wall: number): number {
  return overlap === "first" ? Math.max(wall, segment.from + segment.offsetBefore) : wall;
}

/**
 * The first matching local time that the change at the segment's start left out. A date that is left out as a whole,
 * where a place moved over the date line, is no date there: nothing is due on it.
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

/** Words about a clock change that has to do with this instant; null for nearly all. */
export function noteOn(rule: CronRule, { at, madeUpFor, leftOut }: CronInstant): string | null {
  const segment = segmentAt(rule.timezone, at);
  if (madeUpFor !== undefined) return `${gone(madeUpFor)}, so it runs right after`;
  if (leftOut !== undefined) return `${gone(leftOut)}, so that one is left out`;
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
