// A small table instead of a library, because commands must run without node_modules.
import { Buffer, isUtf8 } from "node:buffer";

/** How files begin, at offset `at`. The first match decides. */
const SIGNATURES = [
  { type: "image/png", bytes: "89504e470d0a1a0a" },
  { type: "image/jpeg", bytes: "ffd8ff" },
  { type: "image/gif", text: "GIF87a" },
  { type: "image/gif", text: "GIF89a" },
  { type: "image/webp", text: "WEBP", at: 8 },
  { type: "image/bmp", text: "BM", onlyFor: ["bmp", "dib"] },
  { type: "image/tiff", bytes: "49492a00" },
  { type: "image/tiff", bytes: "4d4d002a" },
  { type: "image/avif", text: "ftypavif", at: 4 },
  { type: "image/heic", text: "ftypheic", at: 4 },
  { type: "image/x-icon", bytes: "00000100", onlyFor: ["ico"] },
  { type: "application/pdf", text: "%PDF-" },
  { type: "application/gzip", bytes: "1f8b" },
  { type: "application/x-bzip2", text: "BZh" },
  { type: "application/x-xz", bytes: "fd377a585a00" },
  { type: "application/zstd", bytes: "28b52ffd" },
  { type: "application/x-7z-compressed", bytes: "377abcaf271c" },
  { type: "application/vnd.rar", text: "Rar!" },
  { type: "application/zip", text: "PK\u0003\u0004" },
  { type: "application/zip", text: "PK\u0005\u0006" },
  { type: "application/x-tar", text: "ustar", at: 257 },
  { type: "audio/wav", text: "WAVE", at: 8 },
  { type: "audio/flac", text: "fLaC" },
  { type: "audio/ogg", text: "OggS" },
  { type: "audio/mpeg", text: "ID3" },
  { type: "audio/mp4", text: "ftypM4A", at: 4 },
  { type: "video/mp4", text: "ftyp", at: 4 },
  { type: "video/webm", bytes: "1a45dfa3" },
  { type: "video/x-msvideo", text: "AVI ", at: 8 },
  { type: "font/woff", text: "wOFF" },
  { type: "font/woff2", text: "wOF2" },
  { type: "application/vnd.sqlite3", text: "SQLite format 3\u0000" },
  { type: "application/wasm", bytes: "0061736d" },
  { type: "application/x-executable", bytes: "7f454c46" },
].map(({ bytes, text, at = 0, ...rule }) => ({
  ...rule,
  at,
  start: bytes === undefined ? Buffer.from(text ?? "", "latin1") : Buffer.from(bytes, "hex"),
}));

/** @type {Record<string, string>} */
const EXTENSIONS = {
  ...{ txt: "text/plain", log: "text/plain", md: "text/markdown", csv: "text/csv", tsv: "text/tab-separated-values" },
  ...{ html: "text/html", htm: "text/html", css: "text/css", js: "text/javascript", mjs: "text/javascript" },
  ...{ json: "application/json", ndjson: "application/x-ndjson", xml: "application/xml", yaml: "application/yaml" },
  ...{
    yml: "application/yaml",
    toml: "application/toml",
    sql: "application/sql",
    svg: "image/svg+xml",
    ics: "text/calendar",
  },
  ...{ sh: "application/x-sh", py: "text/x-python", rtf: "application/rtf", eml: "message/rfc822", vcf: "text/vcard" },
  ...{
    png: "image/png",
    jpg: "image/jpeg",
    jpeg: "image/jpeg",
    gif: "image/gif",
    webp: "image/webp",
    bmp: "image/bmp",
  },
  ...{ tif: "image/tiff", tiff: "image/tiff", avif: "image/avif", heic: "image/heic", ico: "image/x-icon" },
  ...{
    pdf: "application/pdf",
    zip: "application/zip",
    gz: "application/gzip",
    tgz: "application/gzip",
    bz2: "application/x-bzip2",
  },
  ...{
    xz: "application/x-xz",
    zst: "application/zstd",
    "7z": "application/x-7z-compressed",
    rar: "application/vnd.rar",
  },
  ...{
    tar: "application/x-tar",
    mp3: "audio/mpeg",
    wav: "audio/wav",
    flac: "audio/flac",
    ogg: "audio/ogg",
    m4a: "audio/mp4",
  },
  ...{ mp4: "video/mp4", mov: "video/quicktime", webm: "video/webm", mkv: "video/x-matroska", avi: "video/x-msvideo" },
  ...{ woff: "font/woff", woff2: "font/woff2", ttf: "font/ttf", otf: "font/otf", wasm: "application/wasm" },
  docx: "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
  xlsx: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
  pptx: "application/vnd.openxmlformats-officedocument.presentationml.presentation",
  ...{ odt: "application/vnd.oasis.opendocument.text", ods: "application/vnd.oasis.opendocument.spreadsheet" },
  ...{ epub: "application/epub+zip", jar: "application/java-archive", doc: "application/msword" },
  ...{ xls: "application/vnd.ms-excel", ppt: "application/vnd.ms-powerpoint", sqlite: "application/vnd.sqlite3" },
};

/** Formats whose container has the signature's type; for these the extension is more precise. */
/** @type {Record<string, readonly string[]>} */
const CONTAINERS = {
  "application/zip": ["docx", "xlsx", "pptx", "odt", "ods", "epub", "jar"],
  "video/webm": ["mkv"],
  "video/mp4": ["mov"],
};

/**
 * Returns a file's media type: by how its content begins, else by its extension, else by whether it is text.
 * @param {string} path
 * @param {Buffer} head its first bytes, some thousand of them
 */
export function mediaTypeOf(path, head) {
  const extension = /\.([^./]+)$/.exec(path)?.[1]?.toLowerCase() ?? "";
  const byName = Object.hasOwn(EXTENSIONS, extension) ? EXTENSIONS[extension] : undefined;
  const signature = SIGNATURES.find((rule) => fits(rule, head, extension));
  if (signature) return (CONTAINERS[signature.type]?.includes(extension) ? byName : undefined) ?? signature.type;
  if (byName) return byName;
  return head.length > 0 && isText(head) ? "text/plain" : "application/octet-stream";
}

/**
 * @param {{ start: Buffer, at: number, onlyFor?: readonly string[] }} rule
 * @param {Buffer} head
 * @param {string} extension
 */
function fits({ start, at, onlyFor }, head, extension) {
  if (onlyFor && !onlyFor.includes(extension)) return false;
  return head.subarray(at, at + start.length).equals(start);
}

/** @param {Buffer} head */
function isText(head) {
  // The last character may be cut in two.
  const isReadable = [0, 1, 2, 3].some((cut) => isUtf8(head.subarray(0, head.length - cut)));
  return isReadable && !head.some((byte) => byte < 9 || (byte > 13 && byte < 27) || (byte > 27 && byte < 32));
}
