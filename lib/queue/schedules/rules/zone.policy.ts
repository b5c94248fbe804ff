import { BoundedMap } from "@/lib/async/bounded-map";
import { ZONE_NAMES } from "./zone-names.policy";

const DAY = 86_400_000;
const SECOND = 1000;

/** Since 1970 no zone has changed its clock twice within a week. */
const SAMPLE = 3 * DAY;

/** How far a year's table extends into its neighbours, so that a change near its edge is seen from both sides. */
const MARGIN = 4 * DAY;

/** A period in which a zone's clock does not change. */
export interface Segment {
  readonly from: number;
  /** The first instant after the segment. */
  readonly until: number;
  /** Local time minus UTC. */
  readonly offset: number;
  /** The offset just before `from`. Equal to `offset` if `from` is only the edge of a table. */
  readonly offsetBefore: number;
}

/** True if this is the exact name of an IANA zone that this Node knows, including links. */
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

/** Cache of valid names, because a formatter per check would cost more than the search. */
const zones = new Set<string>();

/** Returns the correct spelling of a name that differs only in case. */
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
 * Returns the segment that contains an instant. Its edges are clock changes, or lie days away from the instant.
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

/** Each formatter takes tens of kilobytes. The tables made with it stay cached. */
const MAX_FORMATTERS = 64;
const formatters = new BoundedMap<string, Intl.DateTimeFormat>(MAX_FORMATTERS);

const formatterOf = (zone: string): Intl.DateTimeFormat => formatters.getOrMake(zone, makeFormatter);

const makeFormatter = (zone: string): Intl.DateTimeFormat =>
  new Intl.DateTimeFormat("en-US", {
    timeZone: zone,
    calendar: "gregory",
    numberingSystem: "latn",
    // With hour12: false, midnight would be written as 24.
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

/**
 * Formats an instant as RFC 3339 with the zone's offset. Offsets with seconds, all before 1973, are
 * rounded to the minute.
 */
export function localText(zone: string, instant: number): string {
  const minutes = Math.round(segmentAt(zone, instant).offset / 60_000);
  const wall = new Date(instant + minutes * 60_000).toISOString();
  const clock = wall.endsWith(".000Z") ? wall.slice(0, -5) : wall.slice(0, -1);
  const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
  return `${clock}${minutes < 0 ? "-" : "+"}${twoDigits(hours)}:${twoDigits(rest)}`;
}

const twoDigits = (value: number): string => String(value).padStart(2, "0");
