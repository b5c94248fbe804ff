import path from "node:path";
import { NonRetryableError } from "../errors";
import { isWellFormed } from "../unicode";

export const NAME_CHARS = 200;
/** Characters that make a name look like another one. */
const HIDDEN = /[\p{Cc}\u200b\u2028-\u202e\u2060\u2066-\u2069\ufeff]/u;
const CONTENT_TYPE = /^[a-z0-9!#$&^_.+-]{1,60}\/[a-z0-9!#$&^_.+-]{1,80}(?:; ?[a-z]{1,20}=[a-z0-9_.-]{1,40})?$/i;

const BY_ENDING: Readonly<Record<string, string>> = {
  ".csv": "text/csv; charset=utf-8",
  ".gz": "application/gzip",
  ".html": "text/html; charset=utf-8",
  ".jpg": "image/jpeg",
  ".json": "application/json",
  ".log": "text/plain; charset=utf-8",
  ".md": "text/plain; charset=utf-8",
  ".ndjson": "application/x-ndjson",
  ".pdf": "application/pdf",
  ".png": "image/png",
  ".txt": "text/plain; charset=utf-8",
  ".xml": "application/xml",
  ".zip": "application/zip",
};

/**
 * Returns the problem of an artifact's name, or null. A valid name is a relative path of 1 to 200 characters without
 * `.`, `..` and `\`.
 */
export function nameProblem(name: unknown): string | null {
  if (typeof name !== "string" || name === "") return "has no name";
  if (Array.from(name).length > NAME_CHARS) return `has a name of more than ${NAME_CHARS} characters`;
  if (name.trim() === "") return "has a name of blanks";
  if (HIDDEN.test(name) || !isWellFormed(name)) return "has a control or invisible character in its name";
  const isRelative = !name.includes("\\") && name.split("/").every((part) => !["", ".", ".."].includes(part));
  return isRelative ? null : "has a name that is not a plain relative path";
}

/** Returns the content type to store. @throws NonRetryableError for an invalid one */
export function contentTypeOf(name: string, given: string | undefined): string {
  if (given === undefined) return BY_ENDING[path.extname(name).toLowerCase()] ?? "application/octet-stream";
  if (CONTENT_TYPE.test(given)) return given;
  throw new NonRetryableError("the content type of the artifact is not valid", { errorType: "internal" });
}
