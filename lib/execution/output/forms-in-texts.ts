import { Turns } from "@/lib/turns";
import { cutLength, isCut } from "./redactor";
import { type SecretForms, secretForms, sortedForms, textsOf } from "./secret-forms";
import { headSpellings } from "./spellings";

/** Shared by all callers, so that many at once take no longer turns than one. */
const turns = new Turns();
let lastInLine: Promise<unknown> = Promise.resolve();

/**
 * Returns the forms of secrets that occur in short texts, or are cut off at their end. Masking these texts with them
 * has the same effect as with all forms.
 *
 * All spellings of many long secrets would cost 100 ms. Here only secrets whose beginning is in a text are spelled out,
 * one at a time. No turn of the event loop takes much more than 10 ms, however many calls are made at once.
 */
export function formsInTexts(texts: readonly string[], secrets: readonly string[]): Promise<SecretForms> {
  const found = lastInLine.then(() => find(texts, secrets));
  lastInLine = found.catch(() => undefined);
  return found;
}

async function find(texts: readonly string[], secrets: readonly string[]): Promise<SecretForms> {
  const found = new Set<string>();
  const cut = texts.map((text) => ({ text, form: "", length: 0 }));
  for (const secret of secrets) {
    await turns.next();
    if (!mayHold(texts, secret)) continue;
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

function mayHold(texts: readonly string[], secret: string): boolean {
  return textsOf(secret).some((part) => {
    const heads = sortedForms(new Set(headSpellings(part)));
    return texts.some((text) => heads.forms.some((head) => text.includes(head) || isCut(cutLength(text, head, heads))));
  });
}

function noteCut(end: { readonly text: string; form: string; length: number }, form: string, all: SecretForms): void {
  const length = cutLength(end.text, form, all);
  if (length > end.length) Object.assign(end, { form, length });
}
