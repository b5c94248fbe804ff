import { CronExpressionParser } from "cron-parser";
import { BoundedMap } from "@/lib/async/bounded-map";

/** The expanded fields of an expression. */
export interface CronFields {
  /** The five fields as written, with an alias replaced by its expression. */
  readonly texts: readonly [minute: string, hour: string, dayOfMonth: string, month: string, dayOfWeek: string];
  readonly minutes: readonly number[];
  readonly hours: readonly number[];
  readonly daysOfMonth: readonly number[];
  /** `L`: the last day of the month. */
  readonly lastDay: boolean;
  readonly months: readonly number[];
  /** 0 is Sunday. */
  readonly daysOfWeek: readonly number[];
  /** `1#5`: the fifth Monday. `1L`, the last one, has nth "last". */
  readonly nthWeekdays: readonly NthWeekday[];
}

export interface NthWeekday {
  readonly weekday: number;
  readonly nth: number | "last";
}

/** Why an expression is refused. The text names the field and the correct form; it contains nothing of the input. */
export class CronError extends Error {
  override readonly name = "CronError";

  constructor(
    readonly code: "fields" | "blank" | "alias" | "syntax" | "range" | "step" | "unsupported" | "too-long" | "never",
    message: string,
  ) {
    super(message);
  }
}

const ALIASES: ReadonlyMap<string, string> = new Map([
  ["@hourly", "0 * * * *"],
  ["@daily", "0 0 * * *"],
  ["@midnight", "0 0 * * *"],
  ["@weekly", "0 0 * * 0"],
  ["@monthly", "0 0 1 * *"],
  ["@yearly", "0 0 1 1 *"],
  ["@annually", "0 0 1 1 *"],
]);

/** Longer than a list of all values of all fields. */
const MAX_LENGTH = 512;

interface Field {
  readonly name: string;
  readonly min: number;
  readonly max: number;
  readonly names?: readonly string[];
}

const MONTHS = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const WEEKDAYS = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];
const DAY_OF_MONTH: Field = { name: "day of month", min: 1, max: 31 };
const DAY_OF_WEEK: Field = { name: "day of week", min: 0, max: 7, names: WEEKDAYS };
const FIELDS: readonly Field[] = [
  { name: "minute", min: 0, max: 59 },
  { name: "hour", min: 0, max: 23 },
  DAY_OF_MONTH,
  { name: "month", min: 1, max: 12, names: MONTHS },
  DAY_OF_WEEK,
];

/** One item of a list: a form that cron-parser expands, or one of the two forms that this file handles. */
type Item = { readonly plain: string } | { readonly lastDay: true } | { readonly nth: NthWeekday };

/** Returns the expression with single spaces between its fields, as it is stored. */
export const tidyCron = (text: string): string => text.replace(/ +/g, " ").replace(/^ | $/g, "");

/**
 * Parses an expression by the grammar of docs/scheduling.md. Time and memory are bounded by the length of the text, and
 * nothing depends on today's date. Does not check that the expression ever occurs.
 * @throws CronError
 */
export function readCron(text: string): CronFields {
  const texts = splitFields(text);
  const items = FIELDS.map((field, index) => readField(texts[index] ?? "", field));
  const [minutes = [], hours = [], daysOfMonth = [], months = [], daysOfWeek = []] = items.map(valuesOf);
  return {
    texts,
    minutes,
    hours,
    daysOfMonth,
    lastDay: items.flat().some((item) => "lastDay" in item),
    months,
    daysOfWeek: sorted(daysOfWeek.map((day) => day % 7)),
    nthWeekdays: items.flat().flatMap((item) => ("nth" in item ? [item.nth] : [])),
  };
}

const valuesOf = (items: readonly Item[]): number[] =>
  sorted(items.flatMap((item) => ("plain" in item ? expanded.getOrMake(item.plain, readValues) : [])));

/**
 * Expands one value, or one range with or without a step. cron-parser gets each item alone, as minutes,
 * after it was validated here. Without that, cron-parser accepts "", four fields, ? and H as well, and
 * rejects lists whose items overlap.
 */
function readValues(plain: string): readonly number[] {
  const { fields } = CronExpressionParser.parse(`${plain} * * * *`, { currentDate: new Date(0), tz: "UTC" });
  return fields.minute.values.map(Number);
}

/** Caches items, because most expressions share few: all minutes, all days, weekdays, the hour 0. */
const expanded = new BoundedMap<string, readonly number[]>(1024);

const sorted = (values: readonly number[]): number[] => [...new Set(values)].sort((a, b) => a - b);

function splitFields(text: string): CronFields["texts"] {
  if (text.trim() === "") throw new CronError("fields", "is empty; five fields are needed, such as 0 9 * * *");
  if (/[^\S ]|\p{Cc}/u.test(text)) {
    throw new CronError("blank", "has a tab, a line break or another blank that is not a space (U+0020)");
  }
  const tidy = tidyCron(text);
  if (tidy.startsWith("@")) return splitFields(expandAlias(tidy));
  const [minute, hour, dayOfMonth, month, dayOfWeek, ...others] = tidy.split(" ");
  if (!minute || !hour || !dayOfMonth || !month || !dayOfWeek || others.length > 0) {
    const count = tidy.split(" ").length;
    throw new CronError(
      "fields",
      `has ${count} field${count === 1 ? "" : "s"}; five are needed: minute, hour, day of month, month, day of week (none for seconds or years)`,
    );
  }
  if (tidy.length > MAX_LENGTH) throw new CronError("too-long", `is longer than ${MAX_LENGTH} characters`);
  return [minute, hour, dayOfMonth, month, dayOfWeek];
}

function expandAlias(text: string): string {
  const fields = ALIASES.get(text);
  if (fields === undefined) {
    throw new CronError("alias", `is not a known alias; use one of ${[...ALIASES.keys()].join(", ")}, in lower case`);
  }
  return fields;
}

function readField(text: string, field: Field): Item[] {
  const items = text.split(",");
  if (items.length > 1 && items.includes("*")) {
    throw new CronError("syntax", `the ${field.name} field has * in a list, which takes every value already`);
  }
  return items.map((item) => readItem(item, field));
}

function readItem(item: string, field: Field): Item {
  const special = readSpecial(item, field);
  if (special !== null) return special;
  const every = /^\*(?:\/(\d{1,3}))?$/.exec(item);
  if (every) {
    const high = field.min + widthOf(field);
    return {
      plain: `${field.min}-${high}${every[1] === undefined ? "" : `/${readStep(every[1], field, widthOf(field))}`}`,
    };
  }
  const range = /^(\d{1,3}|[a-z]{3})(?:-(\d{1,3}|[a-z]{3}))?(?:\/(\d{1,3}))?$/i.exec(item);
  if (!range) throw notUnderstood(item, field);
  const [, from = "", to, step] = range;
  const low = readValue(from, field);
  if (to === undefined) {
    if (step === undefined) return { plain: String(low) };
    throw new CronError("step", `the ${field.name} field has a step behind a single value; it needs * or a range`);
  }
  const high = readEnd(to, field);
  if (high < low) {
    throw new CronError(
      "range",
      `the ${field.name} field has a range that runs backwards; write it as two, such as 22-23,0-2 for hours`,
    );
  }
  return { plain: `${low}-${high}${step === undefined ? "" : `/${readStep(step, field, high - low)}`}` };
}

/** Reads the forms that cron-parser does not handle: the last day, and the last or n-th weekday of the month. */
function readSpecial(item: string, field: Field): Item | null {
  if (field === DAY_OF_MONTH && item === "L") return { lastDay: true };
  const match = field === DAY_OF_WEEK ? /^([0-9]|[a-z]{3})(?:L|#(\d))$/i.exec(item) : null;
  if (!match || item.endsWith("l")) return null;
  const [, day = "", nth] = match;
  if (nth !== undefined && (nth < "1" || nth > "5")) {
    throw new CronError("range", "the day of week field counts with # from 1 to 5: no month has more of a weekday");
  }
  return { nth: { weekday: readValue(day, field) % 7, nth: nth === undefined ? "last" : Number(nth) } };
}

function readValue(text: string, field: Field): number {
  if (/^\d/.test(text)) {
    const value = Number(text);
    if (text.length <= 2 && value >= field.min && value <= field.max) return value;
    throw new CronError("range", `the ${field.name} field has a value that is not from ${field.min} to ${field.max}`);
  }
  const index = field.names?.indexOf(text.toUpperCase()) ?? -1;
  if (index >= 0) return field.min + index;
  const known = field.names ? `; names are ${field.names.join(", ")}` : "; it takes no names";
  throw new CronError("syntax", `the ${field.name} field has a name that is not known${known}`);
}

/** Reads the end of a range. Sunday by name ends as 7, because users write FRI-SUN. */
function readEnd(text: string, field: Field): number {
  const value = readValue(text, field);
  return field === DAY_OF_WEEK && text.toUpperCase() === "SUN" ? 7 : value;
}

function readStep(text: string, field: Field, width: number): number {
  const step = Number(text);
  if (step >= 1 && step <= width) return step;
  // A step over the whole range, such as */90 for minutes, would silently match only the first value.
  throw new CronError(
    "step",
    `the ${field.name} field has a step that is not from 1 to ${width}, the width of its range`,
  );
}

/** For steps, a week has seven days, although Sunday has two numbers. */
const widthOf = (field: Field): number => (field === DAY_OF_WEEK ? 6 : field.max - field.min);

function notUnderstood(item: string, field: Field): CronError {
  const letters = item.replace(/[^a-z]/gi, "").toUpperCase();
  const isSpecial =
    ["H", "L", "W"].includes(letters) || item.toUpperCase() === "LW" || (letters === "" && item.includes("?"));
  if (isSpecial || item.includes("#")) {
    return new CronError(
      "unsupported",
      `the ${field.name} field has ?, H, L, W or # in a form that is not offered; L alone is for the day of month, 5L and 1#3 are for the day of week`,
    );
  }
  return new CronError(
    "syntax",
    `the ${field.name} field is not understood; it takes *, values, ranges 1-5, steps */2 or 1-9/2, and lists of these`,
  );
}
