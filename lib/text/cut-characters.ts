/*
 * Texts and names: cuts between characters, exact numbers in JSON, unique names, and safe redirect targets. The texts
 * come from outside.
 *
 * Start with `cutCharacters` below; each file has one subject.
 */

/**
 * Returns the first `most` characters (code points) of a text. Never leaves half of a surrogate pair, which PostgreSQL
 * refuses.
 */
export function cutCharacters(text: string, most: number): string {
  if (text.length <= most) return text;
  let end = 0;
  for (let count = 0; count < most && end < text.length; count += 1)
    end += (text.codePointAt(end) ?? 0) > 0xffff ? 2 : 1;
  return text.slice(0, end);
}
