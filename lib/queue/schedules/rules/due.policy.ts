import type { DueDecision, DueInstant, DueRequest, Instant, SkippedInstants } from "../../types";
import { countInstants, instantAt, leftOutInstants, newestInstants, nextInstant } from "./instants.policy";

/** An instant that is later than this counts as missed. A hand-over between schedulers takes a fraction of it. */
export const ON_TIME_MS = 60_000;

/** Time between the starts of missed instants that are made up for. */
export const CATCH_UP_SPREAD_MS = 10_000;

/** Skipped instants that are listed individually; older ones become one range. */
const NAMED = 1000;

/** The most instants that `all` catches up on, whatever the trigger's limit is. */
const MAX_CATCH_UP = 1000;

/**
 * Decides which instants of a schedule fire at `now`, which are skipped, and when it is due next. Time and memory are
 * bounded however long the schedule was not checked, because older instants are counted instead of listed.
 * The newest due instant is on time up to a minute late; every other due instant is missed. `catchUp` decides about
 * missed instants: none of them, one run in place of all, or the newest `catchUpLimit`, spread out. After `expiresAt`
 * no missed instant is made up for.
 * `nextRunAt` and `followingRunAt` are the schedule's stored instants. `finished` is "max_runs" if all of `fire` become
 * runs and use up the limit. The caller knows which of them did.
 * @throws CronError, RangeError for a rule that `readSchedule` would refuse here
 */
export function decideDue(request: DueRequest): DueDecision {
  const due = dueInstants(request);
  const { fire, skipped } = due === null ? { fire: [], skipped: [] } : choose(due, request);
  const leftOut = due === null ? [] : leftOutBefore(request);
  const next = upcoming(request);
  const runs = request.runCount + fire.length;
  const usedUp = request.maxRuns !== null && runs >= request.maxRuns;
  const all = [...skipped, ...leftOut].sort((a, b) => a.at.getTime() - b.at.getTime());
  return { fire, skipped: all, ...next, finished: usedUp ? "max_runs" : next.finished };
}

interface Due {
  /** The newest instants, oldest first. */
  readonly listed: readonly Instant[];
  /** The range of instants older than those listed. */
  readonly older: { readonly at: Date; readonly until: Date; readonly n: number } | null;
}

function dueInstants({ rule, nextRunAt, followingRunAt, now, expiresAt }: DueRequest): Due | null {
  if (nextRunAt === null || nextRunAt > now || (expiresAt !== null && nextRunAt >= expiresAt)) return null;
  const first = instantAt(rule, nextRunAt);
  if (followingRunAt !== null && followingRunAt > now) return { listed: [first], older: null };
  const until = expiresAt !== null && expiresAt <= now ? new Date(expiresAt.getTime() - 1) : now;
  const most = NAMED + MAX_CATCH_UP;
  const later = countInstants(rule, nextRunAt, until);
  const newest = newestInstants(rule, { after: nextRunAt, until }, most);
  const [oldest] = newest;
  if (later < most || oldest === undefined) return { listed: [first, ...newest], older: null };
  // The oldest listed instant becomes the end of the range.
  return { listed: newest.slice(1), older: { at: nextRunAt, until: oldest.at, n: later - newest.length + 2 } };
}

function choose({ listed, older }: Due, request: DueRequest): Pick<DueDecision, "fire" | "skipped"> {
  const { now, expiresAt, maxRuns, runCount } = request;
  const last = listed.at(-1);
  const onTime = last !== undefined && now.getTime() - last.at.getTime() <= ON_TIME_MS ? [last] : [];
  const missed = onTime.length > 0 ? listed.slice(0, -1) : listed;
  const isExpired = expiresAt !== null && expiresAt <= now;
  const madeUpFor = isExpired ? [] : missed.slice(missed.length - catchUpCount(request, missed.length, onTime.length));
  const left = maxRuns === null ? Number.POSITIVE_INFINITY : Math.max(0, maxRuns - runCount);
  const chosen = [...madeUpFor, ...onTime];
  const fire = chosen.slice(0, left);
  const standsForOthers = request.catchUp === "last" && (missed.length > 0 || older !== null);
  const reason = isExpired ? "expired" : "catch_up";
  const skipped: SkippedInstants[] = [
    ...missed.slice(0, missed.length - madeUpFor.length).map(({ at }) => ({ at, until: null, n: 1, reason }) as const),
    ...chosen.slice(left).map(({ at }) => ({ at, until: null, n: 1, reason: "max_runs" }) as const),
  ];
  return {
    fire: fire.map((instant, index) =>
      index < madeUpFor.length
        ? { ...instant, isCatchUp: true, startAt: startAfter(now, index, instant, request) }
        : { ...instant, isCatchUp: standsForOthers, startAt: startAfter(instant.at, 0, instant, request) },
    ) satisfies DueInstant[],
    skipped: inRange(skipped, older, reason),
  };
}

/** Each left-out local time is reported with the instant after it, so it is reported once. */
function leftOutBefore({ rule, nextRunAt, now, since }: DueRequest): SkippedInstants[] {
  if (!since || nextRunAt === null) return [];
  return leftOutInstants(rule, { after: since, until: now })
    .filter(({ at }) => {
      const next = nextInstant(rule, at);
      return next !== null && next.at <= now && (at > nextRunAt || next.at.getTime() === nextRunAt.getTime());
    })
    .map(({ at, note }) => ({ at, until: null, n: 1, reason: "dst_gap", note }));
}

function catchUpCount({ catchUp, catchUpLimit }: DueRequest, missed: number, onTime: number): number {
  switch (catchUp) {
    case "skip":
      return 0;
    case "last":
      // One run in place of all missed ones. If an instant is on time, its run stands for them.
      return onTime > 0 ? 0 : Math.min(1, missed);
    case "all":
      return Math.min(missed, Math.max(0, Math.min(catchUpLimit, MAX_CATCH_UP)));
  }
}

function startAfter(from: Date, nth: number, { at }: Instant, { random, jitterSeconds }: DueRequest): Date {
  const jitter = Math.floor(random(at) * jitterSeconds * 1000);
  return new Date(from.getTime() + nth * CATCH_UP_SPREAD_MS + jitter);
}

/** Lists the newest skipped instants and merges the rest with the older ones into one range. */
function inRange(
  skipped: SkippedInstants[],
  older: Due["older"],
  reason: SkippedInstants["reason"],
): SkippedInstants[] {
  const surplus = skipped.slice(0, Math.max(0, skipped.length - NAMED));
  const named = skipped.slice(surplus.length);
  const [first, end] = [older?.at ?? surplus[0]?.at, surplus.at(-1)?.at ?? older?.until];
  if (first === undefined || end === undefined) return named;
  const n = (older?.n ?? 0) + surplus.length;
  return [{ at: first, until: n > 1 ? end : null, n, reason }, ...named];
}

function upcoming({ rule, nextRunAt, followingRunAt, now, expiresAt }: DueRequest) {
  const expired = { nextRunAt: null, followingRunAt: null, finished: "expired" } as const;
  if (nextRunAt === null) return { nextRunAt: null, followingRunAt: null, finished: "over" } as const;
  const isBeyond = (at: Date | null): boolean => at !== null && expiresAt !== null && at >= expiresAt;
  const stored = nextRunAt > now ? nextRunAt : followingRunAt;
  // Stored instants stay valid while they lie ahead, so that all readers see the same.
  const next = stored !== null && stored > now ? stored : (nextInstant(rule, now)?.at ?? null);
  if (next === null) return { nextRunAt: null, followingRunAt: null, finished: "over" } as const;
  if (isBeyond(next)) return expired;
  const following = next === nextRunAt && followingRunAt !== null ? followingRunAt : nextInstant(rule, next)?.at;
  return { nextRunAt: next, followingRunAt: following && !isBeyond(following) ? following : null, finished: null };
}

/**
 * Returns a number in [0, 1) that depends only on a name and an instant, so all schedulers delay the same firing alike
 * and different triggers differently.
 */
export function instantChance(name: string, at: Date): number {
  // FNV-1a, then the finisher of MurmurHash3, because neighbouring instants would otherwise get close values.
  let hash = 0x811c9dc5;
  for (const char of `${name}@${at.getTime()}`) hash = Math.imul(hash ^ (char.codePointAt(0) ?? 0), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32;
}

/**
 * Clamps a delay to what a Node timer accepts: over 2^31 − 1 ms it would fire at once. The caller has to check again
 * when the timer fires.
 */
export function clampDelay(milliseconds: number): number {
  return Math.min(Math.max(0, milliseconds), 2 ** 31 - 1);
}
