const LONGEST = 8 * 1024;
/** Limit on query parameters, because the framework scans all of them for each one: 4,000 take half a second. */
const MOST_PARAMETERS = 100;

/**
 * Returns the path of a request target, or null if no page or route may see it: absolute and asterisk forms, double
 * slashes, backslashes, bad percent-encoding, encoded slashes, dot segments, control characters, over 100 parameters.
 */
export function checkedPath(target: string | undefined): string | null {
  if (!target?.startsWith("/") || target.length > LONGEST || !/^[\x21-\x7e]+$/.test(target)) return null;
  const [path = "", query = ""] = splitOnce(target, "?");
  if (path.includes("//") || path.includes("\\") || /%(?:2f|5c)/i.test(path)) return null;
  const decoded = decode(path);
  if (decoded === null || decode(query) === null || query.split("&").length > MOST_PARAMETERS) return null;
  return decoded.split("/").some((part) => part === "." || part === "..") ? null : path;
}

function splitOnce(text: string, mark: string): [string, string] {
  const at = text.indexOf(mark);
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
}

function decode(text: string): string | null {
  try {
    const decoded = decodeURIComponent(text);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
    return /[\u0000-\u001f\u007f]/.test(decoded) ? null : decoded;
  } catch {
    return null;
  }
}
