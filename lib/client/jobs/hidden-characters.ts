export interface TextPart {
  readonly text: string;
  readonly hidden: boolean;
}

// C0 and C1 controls except tab and newline, bidi marks and overrides, zero-width characters, line separators, BOM.
const HIDDEN =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the point
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/gu;

const HIDDEN_ON_ONE_LINE = new RegExp(`${HIDDEN.source}|[\\t\\n]`, "gu");

/**
 * Splits a text into visible parts and names (`U+202E`) of hidden characters. Joiners inside emoji are kept. On one
 * line, tabs and newlines are named too.
 */
export function splitHidden(text: string, oneLine = false): TextPart[] {
  const parts: TextPart[] = [];
  let from = 0;
  for (const match of text.matchAll(oneLine ? HIDDEN_ON_ONE_LINE : HIDDEN)) {
    if (match.index > from) parts.push({ text: text.slice(from, match.index), hidden: false });
    parts.push({ text: codeName(match[0]), hidden: true });
    from = match.index + match[0].length;
  }
  if (from < text.length || parts.length === 0) parts.push({ text: text.slice(from), hidden: false });
  return parts;
}

function codeName(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}
