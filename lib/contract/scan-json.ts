import { faultOfNumber } from "@/lib/text/exact-numbers";
import type { ProblemError } from "./problems";

/** Limits of a JSON text before it is parsed; code after this scan never recurses deeper. */
export const SCAN_LIMITS = { depth: 64, nodes: 20_000, problems: 10 } as const;

/** Each of these fields may hold as many values as a whole request by default, and no more, also in a batch. */
const COUNTED_APART: ReadonlySet<string> = new Set(["payload", "data"]);
/** The maximum depth of such a field: in an entry of a list of the request. */
const COUNTED_DEPTH = 3;
/** Steps of a scan between two looks at the clock: about a millisecond. */
const STEPS_BETWEEN_PAUSES = 5000;

/** The text is not JSON; `position` is a character offset. */
export class MalformedJson extends Error {
  constructor(readonly position: number) {
    super(`not valid JSON at character ${position}`);
  }
}

interface Frame {
  readonly keys: Set<string> | null;
  index: number;
  key: string;
}

const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const NUMBER_FAULTS = {
  "too-large": "numbers beyond ±(2^53-1) are refused; send them as strings",
  "too-small": "the number is too small to be kept; send it as a string",
  "too-many-digits": "the number has more digits than can be kept; send it as a string",
} as const;
const LITERAL = /true|false|null/y;
const HEX4 = /^[0-9a-fA-F]{4}$/;
const LONE_SURROGATE = /\p{Surrogate}/u;

/**
 * Finds what JSON.parse would silently accept: duplicate keys, numbers that a double cannot hold, NUL, lone surrogates,
 * excess depth and size. Scans the text only, in one pass without recursion. Returns at most ten problems with JSON
 * pointers; none when JSON.parse will return exactly what was sent.
 * @throws MalformedJson
 */
export function scanJson(text: string, maxNodes: number = SCAN_LIMITS.nodes): ProblemError[] {
  return new Scanner(text, maxNodes).scan();
}

/** The same, but awaits `pause` every few thousand values, so that a long text does not block the event loop. */
export function scanJsonInTurns(
  text: string,
  pause: () => Promise<void>,
  maxNodes: number = SCAN_LIMITS.nodes,
): Promise<ProblemError[]> {
  return new Scanner(text, maxNodes).scanInTurns(pause);
}

/** A value that is counted apart: its depth, and the number of values before it. */
interface CountedApart {
  readonly depth: number;
  readonly from: number;
}

class Scanner {
  private at = 0;
  private nodes = 0;
  private gaveUp = false;
  /** True if the last value opened an object or array, whose first element comes next. */
  private opened = false;
  private apart: CountedApart | null = null;
  private readonly frames: Frame[] = [];
  private readonly problems: ProblemError[] = [];

  constructor(
    private readonly text: string,
    private readonly maxNodes: number,
  ) {}

  scan(): ProblemError[] {
    this.begin();
    while (this.step(STEPS_BETWEEN_PAUSES));
    return this.end();
  }

  async scanInTurns(pause: () => Promise<void>): Promise<ProblemError[]> {
    this.begin();
    while (this.step(STEPS_BETWEEN_PAUSES)) await pause();
    return this.end();
  }

  private begin(): void {
    this.skipBlank();
    this.opened = this.value();
  }

  /** Scans up to `steps` values; returns false at the end. */
  private step(steps: number): boolean {
    for (let left = steps; left > 0; left -= 1) {
      if (this.frames.length === 0 || this.stopped()) return false;
      this.opened = this.opened ? this.first() : this.next();
    }
    return true;
  }

  private end(): ProblemError[] {
    if (this.stopped()) return this.problems;
    if (this.at !== this.text.length) throw new MalformedJson(this.at);
    return this.problems;
  }

  private stopped(): boolean {
    return this.gaveUp || this.problems.length >= SCAN_LIMITS.problems;
  }

  /** Reads a value; returns true when it opened an object or array, whose first element comes next. */
  private value(): boolean {
    this.nodes += 1;
    if (this.nodes > this.maxNodes) return this.giveUp("too-many-nodes", `more than ${this.maxNodes} values`);
    if (this.apart && this.nodes - this.apart.from > SCAN_LIMITS.nodes)
      return this.giveUp("too-many-nodes", `more than ${SCAN_LIMITS.nodes} values`, this.pointer(this.apart.depth));
    const char = this.text[this.at];
    if (char === "{" || char === "[") return this.open(char);
    if (char === '"') this.checkText(this.string(), "");
    else if (!this.literal()) this.number();
    this.skipBlank();
    return false;
  }

  private open(char: "{" | "["): boolean {
    if (this.frames.length >= SCAN_LIMITS.depth)
      return this.giveUp("too-deep", `nested deeper than ${SCAN_LIMITS.depth}`);
    this.at += 1;
    this.apart ??= this.countedApart();
    this.frames.push({ keys: char === "{" ? new Set() : null, index: 0, key: "" });
    this.skipBlank();
    return true;
  }

  private first(): boolean {
    const frame = this.top();
    if (this.text[this.at] === (frame.keys ? "}" : "]")) return this.close();
    if (frame.keys) this.key(frame, frame.keys);
    return this.value();
  }

  private next(): boolean {
    const frame = this.top();
    const char = this.text[this.at];
    if (char === (frame.keys ? "}" : "]")) return this.close();
    if (char !== ",") throw new MalformedJson(this.at);
    this.at += 1;
    this.skipBlank();
    frame.index += 1;
    if (frame.keys) this.key(frame, frame.keys);
    return this.value();
  }

  private close(): boolean {
    this.at += 1;
    this.frames.pop();
    if (this.apart?.depth === this.frames.length) this.apart = null;
    this.skipBlank();
    return false;
  }

  private countedApart(): CountedApart | null {
    const depth = this.frames.length;
    const key = depth > 0 && depth <= COUNTED_DEPTH ? this.frames[depth - 1]?.key : undefined;
    return key !== undefined && COUNTED_APART.has(key) ? { depth, from: this.nodes } : null;
  }

  private key(frame: Frame, keys: Set<string>): void {
    const name = this.string();
    frame.key = name;
    this.checkText(name, " in a key");
    if (keys.has(name)) this.report("duplicate-key", "the key appears twice");
    keys.add(name);
    this.skipBlank();
    if (this.text[this.at] !== ":") throw new MalformedJson(this.at);
    this.at += 1;
    this.skipBlank();
  }

  private string(): string {
    const start = this.at;
    if (this.text[start] !== '"') throw new MalformedJson(start);
    let escaped = false;
    for (let i = start + 1; i < this.text.length; i += 1) {
      const code = this.text.charCodeAt(i);
      if (code === 0x22) {
        this.at = i + 1;
        const raw = this.text.slice(start, this.at);
        return escaped ? JSON.parse(raw) : raw.slice(1, -1);
      }
      if (code < 0x20) throw new MalformedJson(i);
      if (code === 0x5c) {
        escaped = true;
        i += this.escapeLength(i + 1);
      }
    }
    throw new MalformedJson(this.text.length);
  }

  private escapeLength(at: number): number {
    const char = this.text[at] ?? "";
    if (char === "u" && HEX4.test(this.text.slice(at + 1, at + 5))) return 5;
    if (char !== "" && '"\\/bfnrt'.includes(char)) return 1;
    throw new MalformedJson(at);
  }

  private literal(): boolean {
    LITERAL.lastIndex = this.at;
    const found = LITERAL.exec(this.text);
    if (found) this.at += found[0].length;
    return found !== null;
  }

  private number(): void {
    NUMBER.lastIndex = this.at;
    const found = NUMBER.exec(this.text);
    if (!found) throw new MalformedJson(this.at);
    this.at += found[0].length;
    const fault = faultOfNumber(found[0]);
    if (fault !== null) this.report("number-out-of-range", NUMBER_FAULTS[fault]);
  }

  private checkText(value: string, where: string): void {
    if (value.includes("\u0000")) this.report("nul-character", `U+0000${where} cannot be stored`);
    if (LONE_SURROGATE.test(value)) this.report("lone-surrogate", `half of a surrogate pair${where} cannot be stored`);
  }

  private report(code: string, detail: string, pointer = this.pointer()): void {
    if (!this.stopped()) this.problems.push({ pointer, code, detail });
  }

  private giveUp(code: string, detail: string, pointer?: string): false {
    this.report(code, detail, pointer);
    this.gaveUp = true;
    return false;
  }

  /**
   * Returns the pointer of the current value, or of the value around it at `depth`. Its cost is the length of the keys,
   * so it is used for problems only.
   */
  private pointer(depth?: number): string {
    const around = this.frames.slice(0, depth);
    return around.map((frame) => `/${frame.keys ? escapeToken(frame.key) : frame.index}`).join("");
  }

  private top(): Frame {
    const frame = this.frames.at(-1);
    if (!frame) throw new MalformedJson(this.at);
    return frame;
  }

  private skipBlank(): void {
    while (this.at < this.text.length && " \t\n\r".includes(this.text[this.at] ?? "x")) this.at += 1;
  }
}

/** Escapes one step of a JSON pointer (RFC 6901). The result is well formed for any key. */
export function escapeToken(key: string | number): string {
  return String(key)
    .replaceAll("\u0000", "\ufffd")
    .replace(/\p{Surrogate}/gu, "\ufffd")
    .replaceAll("~", "~0")
    .replaceAll("/", "~1");
}
