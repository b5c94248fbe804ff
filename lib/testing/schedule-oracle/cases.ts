import { type OracleRule, offsetsOf } from "./oracle";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/**
 * Offsets in whole hours and quarters, gaps at midnight and of two hours, both hemispheres, Ramadan, and zones without
 * changes.
 */
export const ZONES = [
  ...["America/New_York", "America/Chicago", "America/St_Johns", "America/Havana", "America/Santiago", "America/Nuuk"],
  ...["America/Scoresbysund", "Atlantic/Azores", "Europe/London", "Europe/Dublin", "Europe/Berlin", "Europe/Chisinau"],
  ...["Africa/Cairo", "Africa/Casablanca", "Asia/Beirut", "Asia/Jerusalem", "Asia/Gaza", "Antarctica/Troll"],
  ...["Australia/Sydney", "Australia/Adelaide", "Australia/Lord_Howe", "Pacific/Norfolk", "Pacific/Auckland"],
  ...["Pacific/Chatham", "Pacific/Easter", "Asia/Kathmandu", "Asia/Tokyo", "UTC"],
] as const;

const YEARS = [2026, 2029] as const;

/** Past changes: a skipped day, half hours, a day that occurred twice. */
const PAST: readonly (readonly [zone: string, from: string])[] = [
  ["Pacific/Apia", "2011-12-30"],
  ["Pacific/Fakaofo", "2011-12-30"],
  ["Pacific/Kiritimati", "1995-01-01"],
  ["Pacific/Kwajalein", "1993-08-21"],
  ["America/Caracas", "2016-05-01"],
  ["Asia/Pyongyang", "2018-05-04"],
  ["Antarctica/Casey", "2020-10-03"],
  ["Europe/Istanbul", "2016-09-07"],
  ["Europe/Volgograd", "2020-12-26"],
];

export interface ZoneSpan {
  readonly zone: string;
  readonly from: number;
  readonly until: number;
  /** The only one of its kind: some of the windows must contain it. */
  readonly isRare: boolean;
}

/**
 * Returns two days around each clock change of each zone in three years, around two ends of months without changes, and
 * the past ones.
 */
export function spans(): ZoneSpan[] {
  const present = ZONES.flatMap((zone) => [...changesOf(zone), ...ENDS_OF_MONTHS].map((at) => around(zone, at)));
  return [...present, ...PAST.map(([zone, date]) => ({ ...around(zone, Date.parse(date)), isRare: true }))];
}

const ENDS_OF_MONTHS = [Date.UTC(2028, 1, 29), Date.UTC(2027, 0, 1)];

const around = (zone: string, at: number): ZoneSpan => ({
  zone,
  from: at - 2 * DAY,
  until: at + 2 * DAY,
  isRare: false,
});

function changesOf(zone: string): number[] {
  const offsetAt = offsetsOf(zone);
  const changes: number[] = [];
  for (let t = Date.UTC(YEARS[0], 0, 1); t < Date.UTC(YEARS[1], 0, 1); t += DAY) {
    if (offsetAt(t) === offsetAt(t + DAY)) continue;
    let hour = t;
    while (offsetAt(hour + HOUR) === offsetAt(t)) hour += HOUR;
    changes.push(hour + HOUR);
  }
  return changes;
}

export type Chance = () => number;

/** mulberry32 */
export function chanceOf(seed: number): Chance {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

const WRITTEN = [
  ...[
    "* * * * *",
    "@hourly",
    "@daily",
    "@midnight",
    "@weekly",
    "@monthly",
    "@yearly",
    "0 2 * * *",
    "30 2 * * *",
    "0 3 * * *",
  ],
  ...[
    "30 1 * * *",
    "0,30 1-3 * * *",
    "*/20 2 * * *",
    "30 1,2 * * *",
    "30 23 * * *",
    "59 23 * * *",
    "0 0 * * 0",
    "0 12 * * 0",
  ],
  ...["0 12 * * *", "*/15 * * * *", "45 */2 * * *", "15 */3 * * *", "0 */6 * * *", "0 0-23 * * *", "0 0-23/2 * * *"],
  ...[
    "15 2 * * 7",
    "15 2 * * SUN",
    "30 2 * * FRI-SUN",
    "0 3 29 3 *",
    "0 2 8-14 3 *",
    "0 1 L * *",
    "0 0 L 2 *",
    "30 0 29 2 *",
  ],
  ...["0 2 * * 7L", "0 2 * MAR 0#2", "0 1 * 11 0#1", "0 9 * * 1#5", "0 0 13 * 5", "30 2 1,L * SAT,SUN", "0 2 */2 * 6"],
  ...["0 0 30 12 *", "0 9 30 12 *", "0 9 31 12 *", "30 0 1 1 *", "0 2-4/2 * 3,10 0,6", "0 0 * * 6#4,SUNL", "5 0 * 8 *"],
];

/** Hand-written rules for known problems, drawn rules for unknown ones; the same in each run. */
export function rules(count: number): OracleRule[] {
  const chance = chanceOf(20_260_308);
  const drawn = Array.from({ length: count - WRITTEN.length }, () => drawExpression(chance));
  return [...WRITTEN, ...drawn].map((expr) => ({
    expr,
    gap: pick(chance, [null, null, null, "run_after", "skip"] as const),
    overlap: pick(chance, [null, null, null, "first", "both"] as const),
  }));
}

const pick = <T>(chance: Chance, values: readonly T[]): T => values[Math.floor(chance() * values.length)] as T;

const between = (chance: Chance, min: number, max: number): number => min + Math.floor(chance() * (max - min + 1));

function drawExpression(chance: Chance): string {
  const minute = pick(chance, [
    () => String(between(chance, 0, 59)),
    () => "0",
    () => "30",
    () => listOf(chance, 0, 59),
    () => `*/${between(chance, 7, 59)}`,
    () => rangeOf(chance, 0, 59, 11),
  ])();
  const hour = pick(chance, [
    () => "*",
    () => `*/${between(chance, 1, 12)}`,
    () => String(between(chance, 0, 4)),
    () => String(between(chance, 0, 4)),
    () => pick(chance, ["22", "23", "0", "2", "3"]),
    () => listOf(chance, 0, 23),
    () => rangeOf(chance, 0, 23, 1),
  ])();
  return `${minute} ${hour} ${drawDays(chance)}`;
}

function drawDays(chance: Chance): string {
  const weekday = () =>
    pick(chance, [
      "0",
      "7",
      "SUN",
      "mon",
      "6",
      "SAT,SUN",
      "1-5",
      "5-7",
      "FRI-SUN",
      "*/2",
      "0#2",
      "0#1",
      "0L",
      "5#4,6L",
    ]);
  const day = () => pick(chance, [listOf(chance, 1, 31), rangeOf(chance, 1, 31, 2), "L", "*/3", "8-14", "25-31"]);
  const [days, weekdays] = pick(chance, [
    () => ["*", "*"],
    () => ["*", "*"],
    () => ["*", weekday()],
    () => [day(), "*"],
    () => [day(), weekday()],
  ])();
  const month = pick(chance, ["*", "*", "*", "3-4,9-11", "MAR,APR,sep,OCT,NOV", "*/2", "JAN-OCT/3"]);
  // A day that occurs in none of the given months would be refused; 28 occurs in all of them.
  return `${days === "*" || days === "L" ? days : `${days},28`} ${month} ${weekdays}`;
}

function listOf(chance: Chance, min: number, max: number): string {
  return Array.from({ length: between(chance, 2, 3) }, () => between(chance, min, max)).join(",");
}

function rangeOf(chance: Chance, min: number, max: number, leastStep: number): string {
  const width = between(chance, leastStep, max - min);
  const low = between(chance, min, max - width);
  return `${low}-${low + width}/${between(chance, leastStep, width)}`;
}
