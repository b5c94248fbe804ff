import { cutCharacters } from "@/lib/text/cut-characters";
import type { NamedFile } from "../artifacts/collect";
import { NAME_CHARS, nameProblem } from "../artifacts/names";

const MOST_FILES = 1000;
/** Longest path on Linux. */
const MOST_PATH_BYTES = 4096;
const MOST_CONTENT_TYPE_CHARS = 250;
/** Limit for all files together. */
const MOST_CHARS = 512 * 1024;

/**
 * The files that a command names on fd 3, in order. A file whose frame is invalid stays in the list with the reason, so
 * that the attempt fails. Holds about a megabyte at most, whatever the command sends.
 */
export class NamedFiles {
  readonly #files: NamedFile[] = [];
  #chars = 0;
  #isFull = false;

  get all(): readonly NamedFile[] {
    return this.#files;
  }

  add(file: NamedFile): void {
    if (this.#isFull) return;
    const bounded = withinBounds(file);
    this.#chars += bounded.name.length + bounded.path.length + (bounded.contentType?.length ?? 0);
    this.#isFull = this.#files.length === MOST_FILES || this.#chars > MOST_CHARS;
    this.#files.push(this.#isFull ? { name: bounded.name, path: "", problem: "too many files are named" } : bounded);
  }
}

function withinBounds(file: NamedFile): NamedFile {
  const isPathTooLong = Buffer.byteLength(file.path) > MOST_PATH_BYTES;
  const problem = nameProblem(file.name) ?? (isPathTooLong ? "has a path that is too long" : typeProblem(file));
  if (problem === null) return file;
  return { name: shortened(file.name), path: isPathTooLong ? "" : file.path, problem };
}

const typeProblem = ({ contentType = "" }: NamedFile): string | null =>
  contentType.length > MOST_CONTENT_TYPE_CHARS ? "has a content type that is too long" : null;

/** Copies the text, because a substring would keep the whole text in memory. */
const shortened = (name: string): string => Buffer.from(cutCharacters(name, NAME_CHARS)).toString();
