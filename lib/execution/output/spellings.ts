import { toWellFormed } from "../unicode";

/** Shorter forms are not searched, because they occur in any text. */
const SHORTEST = 4;

/** Returns a text in the encodings that programs print: URL, JSON, base64, hex, and quoted for a shell. */
export function spellings(secret: string): string[] {
  const wellFormed = toWellFormed(secret);
  const all = [
    secret,
    ...hexForms(secret),
    ...urlForms(wellFormed),
    ...jsonForms(secret).flatMap((form) => [form, ...jsonForms(form)]),
    ...base64Forms(secret),
    ...shellForms(secret),
  ];
  return all.filter((form) => form.length >= SHORTEST);
}

/** Long enough that no ordinary text contains the beginning of a secret by chance. */
const HEAD = 12;

/**
 * Returns the spellings of a text's first characters: each of `spellings` begins with one of them. Cheap for any text.
 */
export function headSpellings(secret: string): string[] {
  const head = secret.slice(0, HEAD);
  // Half a surrogate pair would be spelled as another character.
  return spellings(head.length === secret.length || toWellFormed(head) === head ? head : head.slice(0, -1));
}

function hexForms(secret: string): string[] {
  const hex = Buffer.from(secret, "utf8").toString("hex");
  return [hex, hex.toUpperCase()];
}

const lowerEscapes = (text: string) => text.replace(/%[0-9A-F]{2}/g, (hex) => hex.toLowerCase());

// Encoders differ in the punctuation that they leave alone, in the case of the digits and in the blank.
function urlForms(secret: string): string[] {
  const component = encodeURIComponent(secret);
  const strict = component.replace(/[!'()*~]/g, percent);
  const whole = [...Buffer.from(secret, "utf8")].map((byte) => percent(String.fromCharCode(byte))).join("");
  const forms = [component, strict, strict.replaceAll("%7E", "~"), strict.replaceAll("%2A", "*"), encodeURI(secret)];
  const paths = forms.map((form) => form.replaceAll("%2F", "/"));
  const upper = [...forms, ...paths].flatMap((form) => [form, form.replaceAll("%20", "+")]);
  return [...upper, whole].flatMap((form) => [form, lowerEscapes(form)]);
}

const percent = (char: string) => `%${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`;
const unicode = (char: string) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;
const upperUnicode = (char: string) => `\\u${unicode(char).slice(2).toUpperCase()}`;

// Some serializers escape characters beyond ASCII and those with a meaning in HTML, in either case.
function jsonForms(secret: string): string[] {
  const plain = JSON.stringify(secret).slice(1, -1);
  const wide = [/[\u007f-\uffff]/g, /[<>&\u2028\u2029]/g, /[<>&'+`\u007f-\uffff]/g];
  const escaped = wide.flatMap((chars) => [plain.replace(chars, unicode), plain.replace(chars, upperUnicode)]);
  // Duplicates are removed, because most texts have few of these characters and each form is encoded once more.
  return [...new Set([plain, ...escaped].flatMap((form) => [form, form.replaceAll("/", "\\/")]))];
}

// Base64 encodes groups of three bytes, so the same bytes differ by how many precede them. Only characters that the
// secret alone determines are searched.
function base64Forms(secret: string): string[] {
  const bytes = Buffer.from(secret, "utf8");
  const whole = bytes.toString("base64");
  const inner = [0, 1, 2].map((before) => {
    const padded = Buffer.concat([Buffer.alloc(before), bytes, Buffer.alloc(3)]);
    const [start, end] = [Math.ceil((8 * before) / 6), Math.floor((8 * (before + bytes.length)) / 6)];
    return padded.toString("base64").slice(start, end);
  });
  const forms = [whole.replace(/={1,2}$/, ""), ...inner];
  const wrapped = [64, 76].filter((width) => whole.length > width).map((width) => wrap(whole, width));
  return [...forms.flatMap((form) => [form, form.replaceAll("+", "-").replaceAll("/", "_")]), ...wrapped];
}

const wrap = (text: string, width: number) => text.replace(new RegExp(`.{${width}}(?=.)`, "g"), "$&\n");

const ANSI_C: Readonly<Record<string, string>> = { "\n": "\\n", "\t": "\\t", "\r": "\\r" };

// 'single', "double", back\slashed as by `printf %q`, and $'ANSI C'.
function shellForms(secret: string): string[] {
  const ansi = secret.replace(/[\\']/g, "\\$&").replace(/[\n\t\r]/g, (char) => ANSI_C[char] ?? char);
  const octal = [...Buffer.from(ansi, "utf8")]
    .map((byte) => (byte < 32 || byte > 126 ? `\\${byte.toString(8).padStart(3, "0")}` : String.fromCharCode(byte)))
    .join("");
  return [
    secret.replaceAll("'", "'\\''"),
    secret.replaceAll("'", `'"'"'`),
    secret.replace(/["\\$`]/g, "\\$&"),
    secret.replace(/["\\$`!]/g, "\\$&"),
    ...UNQUOTED.map((chars) => secret.replace(chars, "\\$&")),
    ansi,
    octal,
  ];
}

// `printf %q` escapes a comma, and `~` and `#` at the beginning of a word; others do not.
const UNQUOTED = ["", ",", "~#", ",~#"].map((kept) => new RegExp(`[^A-Za-z0-9_@%+=:./${kept}\\u0080-\\uffff-]`, "g"));
