import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { cleanResult } from "./clean-result";
import { MASK } from "./patterns";
import { redactText, StreamRedactor } from "./redactor";
import { secretForms } from "./secret-forms";

const SECRETS = [
  "1234",
  "a/b+",
  "Zü#1",
  "hunter2-Zürich/+=?",
  'it\'s "x" & <y> $HOME `z` \\ !',
  "two\nlines\tand a tab",
  "🎉party*~(1)",
  "k".repeat(100),
];

const python = (code: string, secret: string) =>
  execFileSync("python3", ["-S", "-c", code, secret], { encoding: "utf8" });
const bash = (code: string, secret: string) => execFileSync("bash", ["-c", code, "bash", secret], { encoding: "utf8" });

const ENCODERS: Readonly<Record<string, (secret: string) => string>> = {
  "as it is": (secret) => secret,
  "URL component": encodeURIComponent,
  "URL component in small hex": (secret) => encodeURIComponent(secret).replace(/%../g, (hex) => hex.toLowerCase()),
  "form body": (secret) => new URLSearchParams({ q: secret }).toString().slice(2),
  "python urllib quote": (secret) => python("import sys,urllib.parse as u;print(u.quote(sys.argv[1]))", secret),
  "python urllib quote_plus": (secret) =>
    python("import sys,urllib.parse as u;print(u.quote_plus(sys.argv[1]))", secret),
  "URL with every byte escaped": (secret) => Buffer.from(secret).toString("hex").replace(/../g, "%$&"),
  JSON: (secret) => JSON.stringify(secret),
  "JSON within JSON": (secret) => JSON.stringify(JSON.stringify({ a: secret })),
  "python json": (secret) => python("import sys,json;print(json.dumps(sys.argv[1]))", secret),
  "JSON with HTML escapes": (secret) =>
    JSON.stringify(secret).replace(/[<>&]/g, (char) => `\\u00${char.charCodeAt(0).toString(16)}`),
  "JSON with capital escapes": (secret) =>
    JSON.stringify(secret).replace(
      /[\u0080-\uffff]/g,
      (char) => `\\u${char.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}`,
    ),
  "JSON with escaped slashes": (secret) => JSON.stringify(secret).replaceAll("/", "\\/"),
  base64: (secret) => Buffer.from(secret).toString("base64"),
  base64url: (secret) => Buffer.from(secret).toString("base64url"),
  "base64 after one byte": (secret) => Buffer.from(`u${secret}`).toString("base64"),
  "base64 after two bytes": (secret) => Buffer.from(`u:${secret}`).toString("base64"),
  "base64 with more after it": (secret) => Buffer.from(`u:${secret}@host`).toString("base64"),
  "base64 of the command": (secret) => bash('printf %s "$1" | base64', secret),
  hex: (secret) => Buffer.from(secret).toString("hex"),
  "hex in capitals": (secret) => Buffer.from(secret).toString("hex").toUpperCase(),
  "python shlex": (secret) => python("import sys,shlex;print(shlex.quote(sys.argv[1]))", secret),
  "bash printf %q": (secret) => bash('printf %q "$1"', secret),
  "bash printf %q in the C locale": (secret) => bash('LC_ALL=C; printf %q "$1"', secret),
  "bash set -x": (secret) => bash('exec 2>&1; set -x; : "$1"', secret),
  "double quotes": (secret) => `"${secret.replace(/["\\$`]/g, "\\$&")}"`,
};

test.each(Object.entries(ENCODERS))(
  "a known secret of 4 or more characters is masked in the encoding: %s",
  (_name, encode) => {
    for (const secret of SECRETS) {
      const text = encode(secret);
      const forms = secretForms([secret]);
      const masked = redactText(`<${text}>`, forms);
      expect(masked, `${secret} as ${text}`).toContain(MASK);
      // Base64 characters that the secret shares with its neighbours may stay, and the quotes around it.
      expect(masked.replaceAll(MASK, "").length, `${secret} as ${text} became ${masked}`).toBeLessThanOrEqual(22);
      const redactor = new StreamRedactor(forms);
      const streamed = [...`<${text}>\n`].map((char) => redactor.push(char)).join("") + redactor.flush();
      expect(streamed).toBe(`${masked}\n`);
    }
  },
);

test("a result is stored exactly with any property names, and only known secrets are masked in it", () => {
  const result = {
    next_page_token: "CAUQAA",
    sync_token: "abc",
    password: "policy.md",
    text: "token_type=a/x.csv password=b Bearer abcdefgh12345678",
    key: `ghp_${"a1".repeat(18)}`,
  };
  expect(cleanResult(result, secretForms([]))).toEqual(result);
  const changes: string[] = [];
  const known = { pin: 1234, text: "pin 1234", "1234": true, other: 99 };
  const masked = { pin: MASK, text: `pin ${MASK}`, [MASK]: true, other: 99 };
  expect(cleanResult(known, secretForms(["1234"]), (change) => changes.push(change))).toEqual(masked);
  expect(changes).toEqual(["secrets are masked"]);
});
