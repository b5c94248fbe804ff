import { spellings } from "./spellings";

/** Shorter values are refused as secrets, because masking `1` or `yes` would blank out every log. */
const SHORTEST_SECRET = 4;
const SHORTEST_SECRET_LINE = 8;

/** All spellings of a job's secrets to look for in text. */
export interface SecretForms {
  readonly forms: readonly string[];
  readonly longest: number;
  /** Border tables of forms whose beginning occurred in a stream; filled by the redactor. */
  readonly borders: Map<string, Int32Array>;
}

const NONE: SecretForms = Object.freeze({ forms: [], longest: 0, borders: new Map() });

const isMaskable = (secret: string) => secret.trim().length >= SHORTEST_SECRET;

/** Returns why the values cannot all be kept secret, or null. The text contains no value. */
export function refusedSecrets(secrets: readonly string[]): string | null {
  return secrets.every(isMaskable) ? null : `a secret needs at least ${SHORTEST_SECRET} characters that are not blank`;
}

/**
 * Spells out each secret in every encoding of `spellings`, and each longer line of a multi-line secret. Omits values
 * that `refusedSecrets` refuses.
 */
export function secretForms(secrets: readonly string[]): SecretForms {
  if (secrets.length === 0) return NONE;
  const forms = new Set<string>();
  for (const secret of secrets) {
    for (const text of textsOf(secret)) for (const form of spellings(text)) forms.add(form);
  }
  return sortedForms(forms);
}

/** Builds `SecretForms` from a selection of forms. */
export function sortedForms(forms: ReadonlySet<string>): SecretForms {
  const sorted = [...forms].sort((a, b) => b.length - a.length);
  return { forms: sorted, longest: sorted[0]?.length ?? 0, borders: new Map() };
}

/** Returns the secret and its lines, whose spellings are searched; none for a value that `refusedSecrets` refuses. */
export const textsOf = (secret: string): string[] => (isMaskable(secret) ? [secret, ...linesOf(secret)] : []);

function linesOf(secret: string): string[] {
  if (!/[\r\n]/.test(secret)) return [];
  const lines = secret.split(/\r?\n|\r/).map((line) => line.trim());
  return [...lines.filter((line) => line.length >= SHORTEST_SECRET_LINE), secret.replace(/\r?\n/g, "\r\n")];
}
