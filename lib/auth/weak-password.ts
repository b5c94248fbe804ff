import { ZxcvbnFactory } from "@zxcvbn-ts/core";
import { adjacencyGraphs, dictionary } from "@zxcvbn-ts/language-common";

/** Lower scores are refused: fewer than about 10^8 guesses. Scores of zxcvbn (Wheeler, 2016) go from 0 to 4. */
const LEAST_SCORE = 3;

/** The estimate's cost grows faster than the text. A text is at least as hard to guess as its beginning. */
const CHECKED_CHARACTERS = 40;

const PRODUCT = "leasehold";

const REASONS: Readonly<Record<string, string>> = {
  userInputs: "is made from your name, your address or the name of this product",
  simpleRepeat: "repeats a few characters",
  extendedRepeat: "repeats a few characters",
  sequences: "is a sequence such as abcd or 1234",
  straightRow: "follows the keys of a keyboard",
  keyPattern: "follows the keys of a keyboard",
};
const COMMON = "is a password that many people use, or close to one";
const EASY = "is easy to guess; a few unrelated words make a strong one";
const COMMON_WARNINGS = ["topTen", "topHundred", "common", "similarToCommon"];

let checker: ZxcvbnFactory | undefined;

/** The user who chooses a password. */
export interface Chooser {
  readonly email: string;
  readonly displayName: string;
}

/**
 * Returns why a password is too easy to guess, as a clause without its subject, or null. Known passwords come from a
 * list in the program, so nothing leaves the machine (OWASP ASVS 6.2.4 and 6.2.11). Takes a few milliseconds of
 * processor time; for a hostile text at most about as long as a hash.
 */
export function weaknessOf(password: string, { email, displayName }: Chooser): string | null {
  checker ??= new ZxcvbnFactory({ dictionary, graphs: adjacencyGraphs });
  const checked = [...password.normalize("NFKC")].slice(0, CHECKED_CHARACTERS).join("");
  const words = [email, ...email.split(/[^\p{L}\p{N}]/u), displayName, ...displayName.split(/\s/u), PRODUCT];
  const { score, feedback } = checker.check(
    checked,
    words.filter((word) => word.length > 2),
  );
  if (score >= LEAST_SCORE) return null;
  const warning = feedback.warning ?? "";
  return REASONS[warning] ?? (COMMON_WARNINGS.includes(warning) ? COMMON : EASY);
}
