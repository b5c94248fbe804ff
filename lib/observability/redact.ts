const SECRET_NAME =
  /^(set-)?cookie$|authorization|passw(or)?d|secret|token|api[-_]?key|data[-_]?key|credential|connection[-_]?string|(database|admin)[-_]?url/i;
const SECRET_TEXT: readonly [RegExp, string][] = [
  [/\b([a-z][a-z0-9+.-]{0,30}:\/\/)[^\s/@:]{0,250}:[^\s/]{0,500}@/gi, "$1[redacted]@"],
  [/\b(Bearer|Basic)\s+[A-Za-z0-9+/=._~-]{8,}/gi, "$1 [redacted]"],
  [/\blhk_[a-z]+_[0-9A-Za-z_]{20,}/g, "lhk_[redacted]"],
];
const MAX_DEPTH = 6;
const MARK = "[redacted]";

/** Returns the text without logins in URLs, authorization values and API keys. */
export function redactLogText(text: string): string {
  return SECRET_TEXT.reduce((clean, [pattern, replacement]) => clean.replace(pattern, replacement), text);
}

/**
 * Returns a copy for a log: values under secret-sounding names are hidden, texts redacted, errors reduced to plain
 * fields.
 */
export function redactFields(value: unknown, depth = 0): unknown {
  if (typeof value === "string") return redactLogText(value);
  if (typeof value !== "object" || value === null) return value;
  if (depth >= MAX_DEPTH) return "[deep]";
  if (value instanceof Date) return value.toISOString();
  if (value instanceof Error) return redactFields(errorFields(value), depth + 1);
  if (Array.isArray(value)) return value.map((item) => redactFields(item, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [
      name,
      SECRET_NAME.test(name) && item !== null && item !== undefined ? MARK : redactFields(item, depth + 1),
    ]),
  );
}

function errorFields(error: Error): Record<string, unknown> {
  return {
    ...error,
    type: error.name,
    message: error.message,
    stack: error.stack,
    ...(error.cause === undefined ? {} : { cause: error.cause }),
  };
}
