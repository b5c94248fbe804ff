import { toWellFormed } from "../unicode";

/** Values shorter than this are not masked: `1` or `true` would blank out every log. */
export const SHORTEST_SECRET = 6;
const SHORTEST_SECRET_LINE = 8;

/** All spellings of a job's secrets that are looked for in text. */
export interface SecretForms {
  readonly forms: readonly string[];
  readonly longest: number;
}

const NONE: SecretForms = Object.freeze({ forms: [], longest: 0 });

/**
 * Spells out each secret as it is, in base64, base64url, hex, URL and JSON form, and each longer line of a secret of
 * several lines. Base64 is also recognised where the secret stands in the middle of what was encoded.
 */
export function secretForms(secrets: readonly string[]): SecretForms {
  if (secrets.length === 0) return NONE;
  const forms = new Set<string>();
  for (const secret of secrets) {
    if (secret.length < SHORTEST_SECRET || secret.trim() === "") continue;
    for (const spelled of [secret, ...linesOf(secret)]) addForms(forms, spelled);
  }
  const sorted = [...forms].sort((a, b) => b.length - a.length);
  return { forms: sorted, longest: sorted[0]?.length ?? 0 };
}

function linesOf(secret: string): string[] {
  if (!/[\r\n]/.test(secret)) return [];
  const lines = secret.split(/\r?\n|\r/).map((line) => line.trim());
  return [...lines.filter((line) => line.length >= SHORTEST_SECRET_LINE), secret.replace(/\r?\n/g, "\r\n")];
}

function addForms(forms: Set<string>, secret: string): void {
  const bytes = Buffer.from(secret, "utf8");
  forms.add(secret);
  forms.add(bytes.toString("hex"));
  forms.add(bytes.toString("hex").toUpperCase());
  forms.add(encodeURIComponent(toWellFormed(secret)));
  forms.add(encodeURIComponent(toWellFormed(secret)).replaceAll("%20", "+"));
  const json = JSON.stringify(secret).slice(1, -1);
  forms.add(json);
  forms.add(json.replaceAll("/", "\\/"));
  for (const text of base64Forms(bytes)) {
    forms.add(text);
    forms.add(text.replaceAll("+", "-").replaceAll("/", "_"));
  }
}

// Base64 works on groups of three bytes, so the same bytes read differently depending on how many stand before them.
function base64Forms(bytes: Buffer): string[] {
  const whole = bytes.toString("base64").replace(/=+$/, "");
  const inner = [0, 1, 2].map((before) => {
    const padded = Buffer.concat([Buffer.alloc(before), bytes]);
    const text = padded.subarray(0, padded.length - (padded.length % 3)).toString("base64");
    return text.slice(before === 0 ? 0 : before + 1);
  });
  return [whole, ...inner.filter((text) => text.length >= SHORTEST_SECRET)];
}
