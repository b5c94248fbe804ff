import type { Instant, ScheduleRule } from "../../types";
import { type CronInstant, countCron, LATEST, leftOutCron, nextCron, noteOn } from "./cron.policy";
import { localText } from "./zone.policy";

/**
 * Returns the first instant strictly after `after`; null if there is none up to the year 9999. Takes microseconds,
 * however far the instant is, because the search does not step through minutes.
 * @throws CronError, RangeError for a rule that `readSchedule` would refuse here
 */
export function nextInstant(rule: ScheduleRule, after: Date): Instant | null {
  const found = find(rule, after.getTime());
  return found === null ? null : instantOf(rule, found);
}

interface Span {
  readonly after: Date;
  /** Inclusive. */
  readonly until: Date;
}

/** Returns the first `count` instants strictly after `after`; fewer if the schedule ends. */
export function nextInstants(rule: ScheduleRule, after: Date, count: number): Instant[] {
  return listInstants(rule, { after, until: new Date(LATEST) }, count);
}

function listInstants(rule: ScheduleRule, { after, until }: Span, most: number): Instant[] {
  const instants: Instant[] = [];
  let last = after;
  while (instants.length < most) {
    const next = nextInstant(rule, last);
    if (next === null || next.at > until) break;
    instants.push(next);
    last = next.at;
  }
  return instants;
}

/** Counts the instants after `after` and up to `until`, inclusive. Counts by months, not one by one. */
export function countInstants(rule: ScheduleRule, after: Date, until: Date): number {
  return count(rule, after.getTime(), until.getTime());
}

/** Returns the newest `most` instants after `after` and up to `until`, oldest first, however many there are. */
export function newestInstants(rule: ScheduleRule, span: Span, most: number): Instant[] {
  const until = span.until.getTime();
  let from = span.after.getTime();
  if (count(rule, from, until) > most) {
    // Finds the latest start that leaves enough instants by bisection, because counting is cheap.
    for (let end = until; end - from > 1; ) {
      const middle = Math.floor((from + end) / 2);
      if (count(rule, middle, until) >= most) from = middle;
      else end = middle;
    }
  }
  return listInstants(rule, { after: new Date(from), until: span.until }, most);
}

/** Returns a stored instant with its local time and note, also if the rule no longer yields it. */
export function instantAt(rule: ScheduleRule, at: Date): Instant {
  const found = find(rule, at.getTime() - 1);
  return instantOf(rule, found?.at === at.getTime() ? found : { at: at.getTime() });
}

/**
 * Returns the instants that a clock change left out because of `skip`: the moment of the change, and the local
 * time in the note.
 */
export function leftOutInstants(rule: ScheduleRule, { after, until }: Span): Instant[] {
  if (rule.type !== "cron") return [];
  return leftOutCron(rule, after.getTime(), until.getTime()).map((found) => instantOf(rule, found));
}

function find(rule: ScheduleRule, after: number): CronInstant | null {
  switch (rule.type) {
    case "cron":
      return nextCron(rule, after);
    case "interval": {
      const anchor = rule.anchorAt.getTime();
      const n = Math.max(0, Math.floor((after - anchor) / rule.everyMs) + 1);
      const at = anchor + n * rule.everyMs;
      return at > LATEST ? null : { at };
    }
    case "once":
      return rule.at.getTime() > after ? { at: rule.at.getTime() } : null;
  }
}

function count(rule: ScheduleRule, after: number, until: number): number {
  if (until <= after) return 0;
  switch (rule.type) {
    case "cron":
      return countCron(rule, after, until);
    case "interval": {
      const upTo = (t: number): number => Math.max(0, Math.floor((t - rule.anchorAt.getTime()) / rule.everyMs) + 1);
      return upTo(Math.min(until, LATEST)) - upTo(after);
    }
    case "once":
      return rule.at.getTime() > after && rule.at.getTime() <= until ? 1 : 0;
  }
}

function instantOf(rule: ScheduleRule, found: CronInstant): Instant {
  const note = rule.type === "cron" ? noteOn(rule, found) : null;
  return { at: new Date(found.at), local: localText(rule.timezone, found.at), note };
}
