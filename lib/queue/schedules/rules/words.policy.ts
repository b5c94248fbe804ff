import type { ScheduleRule } from "../../types";
import { calendarOf } from "./calendar.policy";
import type { CronFields, NthWeekday } from "./grammar.policy";
import { localText } from "./zone.policy";

const WEEKDAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const MONTHS = [
  ["January", "February", "March", "April", "May", "June"],
  ["July", "August", "September", "October", "November", "December"],
].flat();

/** Up to this many times of day are listed; more are described by hour and minute. */
const MOST_TIMES = 6;

/**
 * Describes a schedule in English, from what the engine matches, not from how the expression is written.
 * @throws CronError for an expression that `readSchedule` would refuse
 */
export function describeSchedule(rule: ScheduleRule): string {
  switch (rule.type) {
    case "cron":
      return `${describeCron(calendarOf(rule.expr).fields)} (${rule.timezone})`;
    case "interval":
      return `Every ${duration(rule.everyMs)}, counted from ${readable(rule.anchorAt, rule.timezone)}`;
    case "once":
      return `Once, at ${readable(rule.at, rule.timezone)}`;
  }
}

const readable = (at: Date, zone: string): string =>
  `${localText(zone, at.getTime()).slice(0, 19).replace("T", " ").replace(/:00$/, "")} (${zone})`;

function describeCron(fields: CronFields): string {
  const parts = [times(fields), days(fields)].filter((part) => part !== "");
  const text = parts.join(" ");
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function times(fields: CronFields): string {
  const { minutes, hours } = fields;
  const [first = 0] = minutes;
  if (hours.length * minutes.length <= MOST_TIMES) {
    return `at ${list(hours.flatMap((hour) => minutes.map((minute) => `${two(hour)}:${two(minute)}`)))}`;
  }
  const [everyMinutes, everyHours] = [progression(minutes, 60), progression(hours, 24)];
  const within = hours.length === 24 ? "" : ` ${hoursWords(hours)}`;
  if (minutes.length === 60) return `every minute${within}`;
  if (minutes.length === 1 && hours.length === 24) {
    return first === 0 ? "every hour, on the hour" : `every hour, at ${plural(first, "minute")} past`;
  }
  if (everyMinutes !== null) return `every ${everyMinutes} minutes${within}`;
  if (minutes.length === 1 && everyHours !== null) return `every ${everyHours} hours, from 00:${two(first)}`;
  return `at ${minutes.length === 1 ? "minute" : "minutes"} ${list(ranges(minutes).map(String))} of ${hours.length === 24 ? "every hour" : `the hours ${list(ranges(hours))}`}`;
}

const hoursWords = (hours: readonly number[]): string => {
  const every = progression(hours, 24);
  if (every !== null) return `of every ${ordinal(every)} hour, from hour 0`;
  return hours.length === 1 ? `of the hour ${two(hours[0] ?? 0)}` : `of the hours ${list(ranges(hours))}`;
};

/** Returns n if the values are 0, n, 2n … throughout `size`, without an uneven step at the end. */
function progression(values: readonly number[], size: number): number | null {
  const [first, second] = values;
  if (first !== 0 || second === undefined || second === 1 || size % second !== 0) return null;
  return values.length === size / second && values.every((value, index) => value === index * second) ? second : null;
}

function days(fields: CronFields): string {
  const [, , dayOfMonth, , dayOfWeek] = fields.texts;
  const inMonths = months(fields);
  if (isEveryDay(fields)) return `${isAtTimes(fields) ? "every day" : ""} ${inMonths && `in ${inMonths}`}`.trim();
  if (dayOfWeek === "*") return `on ${dates(fields)} of ${inMonths || "every month"}`;
  const onWeekdays = `on ${weekdays(fields)}`;
  if (dayOfMonth === "*") return inMonths ? `${onWeekdays} in ${inMonths}` : onWeekdays;
  return `on ${dates(fields)} of the month, or ${onWeekdays}${inMonths && `, in ${inMonths}`}`;
}

function isEveryDay({ texts: [, , dayOfMonth, , dayOfWeek], daysOfMonth, daysOfWeek }: CronFields): boolean {
  const [allDates, allWeekdays] = [daysOfMonth.length === 31, daysOfWeek.length === 7];
  if (dayOfMonth === "*") return allWeekdays;
  return allDates || (dayOfWeek !== "*" && allWeekdays);
}

const isAtTimes = ({ hours, minutes }: CronFields): boolean => hours.length * minutes.length <= MOST_TIMES;

const dates = ({ daysOfMonth, lastDay }: CronFields): string =>
  `the ${list([...ranges(daysOfMonth, ordinal), ...(lastDay ? ["last day"] : [])])}`;

function weekdays({ daysOfWeek, nthWeekdays }: CronFields): string {
  // The week starts on Monday here, so that 5-7 becomes one range.
  const fromMonday = daysOfWeek.map((day) => day || 7).sort((a, b) => a - b);
  return list([...ranges(fromMonday, (day) => WEEKDAYS[day % 7] ?? ""), ...nthWeekdays.map(nthWords)]);
}

const nthWords = ({ weekday, nth }: NthWeekday): string =>
  `the ${nth === "last" ? "last" : ordinal(nth)} ${WEEKDAYS[weekday]} of the month`;

/** Empty if all months match. */
const months = ({ months: given }: CronFields): string =>
  given.length === 12 ? "" : list(ranges(given, (month) => MONTHS[month - 1] ?? ""));

/** Three or more consecutive values become a range. */
function ranges(values: readonly number[], word: (value: number) => string = String): string[] {
  const words: string[] = [];
  for (let start = 0; start < values.length; ) {
    let end = start;
    while (values[end + 1] === (values[end] ?? 0) + 1) end += 1;
    const [low, high] = [word(values[start] ?? 0), word(values[end] ?? 0)];
    if (end - start >= 2) words.push(`${low} to ${high}`);
    else words.push(...(end > start ? [low, high] : [low]));
    start = end + 1;
  }
  return words;
}

function list(words: readonly string[]): string {
  return words.length < 2 ? (words[0] ?? "") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;
}

const UNITS = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
  ["second", 1000],
  ["millisecond", 1],
] as const;

/** "90 minutes", "1 day 2 hours": the largest unit that fits exactly, or the two largest, and so on. */
function duration(milliseconds: number): string {
  const parts: string[] = [];
  let rest = milliseconds;
  for (const [unit, size] of UNITS) {
    const count = Math.floor(rest / size);
    if (count > 0) parts.push(count === 1 && parts.length === 0 && rest === size ? unit : plural(count, unit));
    rest -= count * size;
  }
  return parts.join(" ");
}

const plural = (count: number, unit: string): string => `${count} ${unit}${count === 1 ? "" : "s"}`;
const two = (value: number): string => String(value).padStart(2, "0");

function ordinal(value: number): string {
  const rest = value % 100;
  if (rest >= 11 && rest <= 13) return `${value}th`;
  return `${value}${["th", "st", "nd", "rd"][value % 10] ?? "th"}`;
}
