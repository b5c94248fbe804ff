import type { Instant, ScheduleRule } from "../../types";
import { type CronInstant, countCron, LATEST, leftOutCron, nextCron, noteOn } from "./cron.policy";
import { localText } from "./zone.policy";

/**
 * The first instant strictly after `after`; null if there is none up to the year 9999. Takes microseconds, however far it
 * is: nothing is searched minute by minute.
 * @throws CronError, RangeError for a rule that `readSchedule` would refuse here
 */
export function nextInstant(rule: ScheduleRule, after: Date): Instant | null {
  const found = find(rule, after.getTime());
  return found === null ? null : instantOf(rule, found);
}

interface Span {
  readonly after: Date;
  /** Included. */
  readonly until: Date;
}

/** The first `count` instants strictly after `after`; fewer if the schedule ends. */
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

/** How many instants lie after `after` and up to `until`, that one included. Counts by months, not one by one. */
export function countInstants(rule: ScheduleRule, after: Date, until: Date): number {
  return count(rule, after.getTime(), until.getTime());
}

/** The newest `most` instants after `after` and up to `until`, oldest first, however many there are. */
export function newestInstants(rule: ScheduleRule, span: Span, most: number): Instant[] {
  const until = span.until.getTime();
  let from = span.after.getTime();
  if (count(rule, from, until) > most) {
    // The latest start that still leaves as many: found by halving, as counting is cheap.
    for (let end = until; end - from > 1; ) {
      const middle = Math.floor((from + end) / 2);
      if (count(rule, middle, until) >= most) from = middle;
      else end = middle;
    }
  }
  return listInstants(rule, { after: new Date(from), until: span.until }, most);
}

/** A stored instant with its local time and note, although the rule may not give it any more. */
export function instantAt(rule: ScheduleRule, at: Date): Instant {
  const found = find(rule, at.getTime() - 1);
  return instantOf(rule, found?.at === at.getTime() ? found : { at: at.getTime() });
}

/** Instants that a change of the clock left out, by the trigger's own wish: its moment, and which local time it was. */
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
