import { BoundedMap } from "@/lib/async/bounded-map";
import { ZONE_NAMES } from "./zone-names.policy";

const DAY = 86_400_000;
const SECOND = 1000;

/** Since 1970 no zone has changed its clock twice within a week. */
const SAMPLE = 3 * DAY;

/** How far the table of a year looks into its neighbours: a change near its end must be seen from both sides. */
const MARGIN = 4 * DAY;

/** A stretch of time in which a zone's clock is not changed. */
export interface Segment {
  readonly from: number;
  /** The first instant after it. */
  readonly until: number;
  /** Local time minus UTC. */
  readonly offset: number;
  /** The offset just before `from`; the same as `offset` where `from` is no change but the edge of a table. */
  readonly offsetBefore: number;
}

/** Whether this is the exact name of an IANA zone, links included, that this Node knows. */
export function isZone(name: string): boolean {
  if (zones.has(name)) return true;
  if (!ZONE_NAMES.has(name) && !newerZones().has(name)) return false;
  try {
    formatterOf(name);
    zones.add(name);
    return true;
  } catch {
    return false;
  }
}

/** Names that were found to be right. A formatter for each question would cost more than the search. */
const zones = new Set<string>();

/** The right spelling of a name that differs from it in case alone. */
export function spellingOf(name: string): string | undefined {
  const lower = name.toLowerCase();
  return [...ZONE_NAMES].find((zone) => zone.toLowerCase() === lower);
}

let known: ReadonlySet<string> | undefined;
function newerZones(): ReadonlySet<string> {
  known ??= new Set(Intl.supportedValuesOf("timeZone"));
  return known;
}

/**
 * The segment that an instant lies in. Its edges are changes of the clock, or lie days away from the instant.
 * @throws RangeError for a zone that this Node does not know
 */
export function segmentAt(zone: string, instant: number): Segment {
  const table = tableOf(zone, new Date(instant).getUTCFullYear());
  for (const segment of table) if (instant < segment.until) return segment;
  throw new RangeError("The instant is beyond the last year.");
}

const tables = new Map<string, BoundedMap<number, readonly Segment[]>>();
const MAX_YEARS = 128;

function tableOf(zone: string, year: number): readonly Segment[] {
  let years = tables.get(zone);
  if (!years) {
    years = new BoundedMap(MAX_YEARS);
    tables.set(zone, years);
  }
  return years.getOrMake(year, () => makeTable(zone, year));
}

function makeTable(zone: string, year: number): Segment[] {
  const formatter = formatterOf(zone);
  const end = Date.UTC(year + 1, 0, 1) + MARGIN;
  const segments: Segment[] = [];
  let from = Date.UTC(year, 0, 1) - MARGIN;
  let offset = offsetAt(formatter, from);
  let offsetBefore = offset;
  for (let before = from; before < end; before += SAMPLE) {
    const after = Math.min(before + SAMPLE, end);
    const next = offsetAt(formatter, after);
    if (next === offset) continue;
    const until = changeBetween(formatter, before, after);
    segments.push({ from, until, offset, offsetBefore });
    [from, offsetBefore, offset] = [until, offset, next];
  }
  segments.push({ from, until: end, offset, offsetBefore });
  return segments;
}

/** The first instant with the offset of `after`, to the second. */
function changeBetween(formatter: Intl.DateTimeFormat, before: number, after: number): number {
  const offset = offsetAt(formatter, before);
  let [low, high] = [before / SECOND, after / SECOND];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (offsetAt(formatter, middle * SECOND) === offset) low = middle;
    else high = middle;
  }
  return high * SECOND;
}

/** Each holds tens of kilobytes; the tables made with them stay. */
const MAX_FORMATTERS = 64;
const formatters = new BoundedMap<string, Intl.DateTimeFormat>(MAX_FORMATTERS);

const formatterOf = (zone: string): Intl.DateTimeFormat => formatters.getOrMake(zone, makeFormatter);

const makeFormatter = (zone: string): Intl.DateTimeFormat =>
  new Intl.DateTimeFormat("en-US", {
    timeZone: zone,
    calendar: "gregory",
    numberingSystem: "latn",
    // With hour12: false midnight is written as 24.
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
  });

function offsetAt(formatter: Intl.DateTimeFormat, instant: number): number {
  const [month = 0, day = 0, year = 0, hour = 0, minute = 0, second = 0] =
    formatter.format(instant).match(/\d+/g)?.map(Number) ?? [];
  return Date.UTC(year, month - 1, day, hour, minute, second) - instant;
}

/** RFC 3339 with the zone's offset. Offsets with seconds, all of them before 1973, are rounded to the minute. */
export function localText(zone: string, instant: number): string {
  const minutes = Math.round(segmentAt(zone, instant).offset / 60_000);
  const wall = new Date(instant + minutes * 60_000).toISOString();
  const clock = wall.endsWith(".000Z") ? wall.slice(0, -5) : wall.slice(0, -1);
  const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
  return `${clock}${minutes < 0 ? "-" : "+"}${twoDigits(hours)}:${twoDigits(rest)}`;
}

const twoDigits = (value: number): string => String(value).padStart(2, "0");
