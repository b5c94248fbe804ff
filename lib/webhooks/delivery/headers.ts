const MOST_HEADERS = 20;
const MOST_VALUE = 1024;
const NAME = /^(?:x-[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?|authorization|api-key|apikey)$/;
/** Names that look free, but tell proxies and frameworks where a request came from or what it is. */
const TAKEN =
  /^x-(?:forwarded|real-ip|client-ip|original|rewrite|http-method|method-override|accel|sendfile|leasehold|middleware)/;
// Printable ASCII within. HTTP trims blanks at the ends, so a value with such blanks would arrive changed.
const VALUE = /^[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?$/;

export interface HeaderProblem {
  readonly name: string;
  readonly detail: string;
}

/** Returns the headers of an endpoint that cannot be sent; names are compared without case. */
export function headerProblems(headers: Readonly<Record<string, string>>): HeaderProblem[] {
  const names = Object.keys(headers);
  if (names.length > MOST_HEADERS) return [{ name: "", detail: `at most ${MOST_HEADERS} headers` }];
  const lower = names.map((name) => name.toLowerCase());
  return names.flatMap((name, at) => {
    const detail =
      nameProblem(lower[at] ?? "", lower.indexOf(lower[at] ?? "") < at) ?? valueProblem(headers[name] ?? "");
    return detail === null ? [] : [{ name, detail }];
  });
}

function nameProblem(name: string, isRepeated: boolean): string | null {
  if (isRepeated) return "is named twice";
  if (!NAME.test(name)) return "must be a name that begins with X-, or Authorization, Api-Key or ApiKey";
  return TAKEN.test(name) ? "is a name with a meaning for proxies or for us" : null;
}

function valueProblem(value: string): string | null {
  if (value.length > MOST_VALUE) return `must have at most ${MOST_VALUE} characters`;
  return VALUE.test(value) ? null : "must be printable ASCII without line breaks, and no blanks at its ends";
}
