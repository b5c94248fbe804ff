import { expect, test } from "vitest";
import { maskGuesses } from "./guesses";
import { MASK } from "./patterns";
import { redactText } from "./redactor";
import { secretForms } from "./secret-forms";

test.each([
  ["eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl"],
  ["Bearer abcdefgh12345678", "abcdefgh12345678"],
  ["postgres://user:s3cr3t-pw@host/db", "s3cr3t-pw"],
  ["password=opensesame", "opensesame"],
  ["pin_token=7q", "7q"],
  ['"api_key": "k-123456"', "k-123456"],
  ['"dbPassword":"k-123456"', "k-123456"],
  ["AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI", "wJalrXUtnFEMI"],
  ["PGPASSWORD=k-123456 psql", "k-123456"],
  ["Authorization: Basic dXNlcjpwYXNz", "dXNlcjpwYXNz"],
])("a possible credential is masked when shown, and stored unchanged: %s", (text, secret = text) => {
  const line = `before ${text} after`;
  const shown = maskGuesses(line);
  expect(shown).not.toContain(secret);
  expect(shown).toMatch(/^before .*after$/);
  expect(redactText(line, secretForms([]))).toBe(line);
});

test.each([
  "passwordless: login",
  "secretary: Ms Jones",
  "token_count=512",
  "tokens: 512",
  "tokenizer=fast",
  "next_page_tokens: 3",
  "cat: /run/app/secret: Permission denied",
  "open /etc/api_key: No such file or directory (2)",
  "sh: 1: token: not found",
  "ls: credential: Is a directory",
])("words that only contain the name of a secret are not masked: %j", (line) => {
  expect(maskGuesses(line)).toBe(line);
});

test.each(["secret: Permission-denied-1", "password=notfound", "token: not foundling", "api_key: hunter22"])(
  "text that only starts like an error about a file is masked: %j",
  (line) => {
    expect(maskGuesses(line)).toContain(MASK);
  },
);

test.each([
  "eyJ",
  "eyJaaaaaaa.",
  "eyJaaaaaaa-",
  "token",
  'token="',
  "a.a://:",
  "1",
  "password:",
  "-----BEGIN PRIVATE KEY-----",
  "Bearer ",
])("RD-3 masking takes linear time: %j repeated", (piece) => {
  // The fastest of several runs, because others share the machine.
  const time = (length: number) => {
    const text = piece.repeat(Math.ceil(length / piece.length));
    const runs = [1, 2, 3, 4, 5].map(() => {
      const began = performance.now();
      maskGuesses(text);
      return performance.now() - began;
    });
    return Math.min(...runs);
  };
  // Eight times the text: a linear search takes 8 times as long, a quadratic one 64 times.
  const short = time(100_000);
  expect(time(800_000)).toBeLessThan(40 * Math.max(short, 5));
});
