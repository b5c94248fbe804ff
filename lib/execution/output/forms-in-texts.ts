import { Turns } from "@/lib/turns";
import { cutLength, isCut } from "./redactor";
import { type SecretForms, secretForms, sortedForms, textsOf } from "./secret-forms";
import { headSpellings } from "./spellings";

/** How many characters of secrets are spelled out for one call; 1,000 characters of punctuation take 7 ms. */
const MOST_CHARACTERS = 2048;

/** The last call of each line that has one. */
const lines = new Map<string, Promise<unknown>>();

/**
 * Returns the forms of secrets that occur in short texts, or are cut off at their end. Masking these texts with them
 * has the same effect as with all forms.
 *
 * All spellings of many long secrets would cost 100 ms. Here only secrets whose beginning is in a text are spelled out,
 * up to 2,048 characters of them. Beyond that, the text from the beginning of a secret to its own end counts as a form.
 *
 * Calls of one line, such as those of a tenant, run one after the other. Lines take turns of about 10 ms.
 */
export async function formsInTexts(
  texts: readonly string[],
  secrets: readonly string[],
  line: string,
): Promise<SecretForms> {
  const found = (lines.get(line) ?? Promise.resolve()).then(() => find(texts, secrets));
  const settled = found.catch(() => undefined);
  lines.set(line, settled);
  try {
    return await found;
  } finally {
    if (lines.get(line) === settled) lines.delete(line);
  }
}

async function find(texts: readonly string[], secrets: readonly string[]): Promise<SecretForms> {
  const turns = new Turns();
  const found = new Set<string>();
  const cut = texts.map((text) => ({ text, form: "", length: 0 }));
  let left = MOST_CHARACTERS;
  for (const secret of secrets) {
    await turns.next();
    if (!mayHold(texts, secret)) continue;
    left -= secret.length;
    if (left < 0) {
      for (const text of texts) addRest(found, text, secret);
      continue;
    }
    const all = secretForms([secret]);
    for (const form of all.forms) {
      if (texts.some((text) => text.includes(form))) found.add(form);
      for (const end of cut) noteCut(end, form, all);
    }
  }
  // Only the longest beginning at the end of a text decides what is masked there.
  for (const { form, length } of cut) if (isCut(length)) found.add(form);
  return sortedForms(found);
}

const headsOf = (secret: string): SecretForms[] =>
  textsOf(secret).map((part) => sortedForms(new Set(headSpellings(part))));

function mayHold(texts: readonly string[], secret: string): boolean {
  return headsOf(secret).some((heads) =>
    texts.some((text) => heads.forms.some((head) => text.includes(head) || isCut(cutLength(text, head, heads)))),
  );
}

/** Adds the part of a text that begins with the first beginning of a secret. */
function addRest(found: Set<string>, text: string, secret: string): void {
  let from = text.length;
  for (const heads of headsOf(secret)) {
    for (const head of heads.forms) {
      const at = text.indexOf(head);
      const length = cutLength(text, head, heads);
      if (at !== -1) from = Math.min(from, at);
      else if (isCut(length)) from = Math.min(from, text.length - length);
    }
  }
  if (from < text.length) found.add(text.slice(from));
}

function noteCut(end: { readonly text: string; form: string; length: number }, form: string, all: SecretForms): void {
  const length = cutLength(end.text, form, all);
  if (length > end.length) Object.assign(end, { form, length });
}
