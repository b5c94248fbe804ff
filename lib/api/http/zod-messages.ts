import type * as z from "zod";

type RawIssue = z.core.$ZodRawIssue;

const TYPES: Readonly<Record<string, string>> = {
  string: "a text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  tuple: "a list",
  object: "an object",
  record: "an object",
  date: "a time",
  null: "null",
};
const FORMATS: Readonly<Record<string, string>> = {
  datetime: "must be a time like 2026-01-31T09:30:00Z",
  date: "must be a day like 2026-01-31",
  uuid: "must be a UUID",
  email: "must be an e-mail address",
  url: "must be a URL",
};

/**
 * Describes what is wrong with a value, in words that continue after its name. For zod's `error` option of one parse: a
 * message of the schema itself takes precedence. Returns undefined for issues without words here; zod's message
 * applies.
 */
export function wordsOf(issue: RawIssue): string | undefined {
  switch (issue.code) {
    case "invalid_type":
      if (issue.input === undefined) return "is required";
      return TYPES[issue.expected] && `must be ${TYPES[issue.expected]}`;
    case "invalid_value":
      return `must be ${oneOf(issue.values)}`;
    case "invalid_union":
      return Array.isArray(issue.options) ? `must be ${oneOf(issue.options)}` : undefined;
    case "too_small":
      return boundWords(issue, issue.inclusive === false ? "more than" : "at least", issue.minimum);
    case "too_big":
      return boundWords(issue, issue.inclusive === false ? "less than" : "at most", issue.maximum);
    case "not_multiple_of":
      return `must be a multiple of ${issue.divisor}`;
    case "invalid_format":
      return FORMATS[issue.format];
    default:
      return undefined;
  }
}

const UNITS: Readonly<Record<string, string>> = { string: "character", array: "item", set: "item", map: "entry" };

function boundWords({ origin }: { readonly origin: string }, relation: string, bound: number | bigint): string {
  if (origin === "string" && relation === "at least" && bound === 1) return "must not be empty";
  const unit = UNITS[origin];
  if (!unit) return `must be ${relation} ${bound}`;
  return `must have ${relation} ${bound} ${unit}${Number(bound) === 1 ? "" : "s"}`;
}

function oneOf(values: readonly unknown[]): string {
  const shown = values.map(String);
  return shown.length === 1 ? (shown[0] ?? "") : `one of ${shown.join(", ")}`;
}
