import { isUtf8 } from "node:buffer";
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:net";
import path from "node:path";

const MOST_OUTPUT = 1e8;
const ODD_NAMES = [
  "with spaces.txt",
  " leading and trailing ",
  'double "quotes".csv',
  "single 'quotes'",
  "new\nline.md",
  "-rf",
  "--help",
  "emoji 🦊 name.png",
  "ünïcödé – ﬁle.json",
  "e\u0301 decomposed",
  "\u00e9 composed",
  "back\\slash",
  "$(touch pwned)",
  "`id`",
  "semi;colon & co | *",
  "percent%20.html",
  "tab\there",
  ".hidden",
  "日本語.pdf",
  "عربى.xml",
  "x".repeat(255),
];

export interface FileFacts {
  readonly path: string;
  readonly size: number;
  readonly sha256: string;
  readonly modifiedSeconds: number;
}

export interface Tree {
  readonly folder: string;
  /** Entries that no inventory can read. */
  readonly skipped: number;
  /** Returns the facts as `find` and `sha256sum` see them. */
  facts(): Map<string, FileFacts>;
  close(): void;
}

/**
 * Makes a folder with `count` readable files, some with odd names, and with every kind of entry that is not a readable
 * file.
 */
export function makeTree(folder: string, count: number): Tree {
  mkdirSync(folder);
  const nested = ["plain", "with spaces/and\nnewline", "-dash/🦊"].map((name) => path.join(folder, name));
  for (const name of nested) mkdirSync(name, { recursive: true });
  for (const name of ODD_NAMES) writeFileSync(path.join(folder, name), `this is ${name}`);
  for (let n = ODD_NAMES.length; n < count - 2; n += 1) {
    writeFileSync(path.join(nested[n % nested.length] ?? folder, `file ${n}`), `${n} `.repeat(n % 700));
  }
  writeFileSync(path.join(folder, "empty"), "");
  writeFileSync(path.join(folder, "large"), Buffer.alloc(5_000_000, "0123456789"));
  const server = addOddities(folder);
  return { folder, skipped: 7, facts: () => factsOf(folder), close: () => close(server, folder) };
}

function addOddities(folder: string): Server {
  symlinkSync(path.join(folder, "large"), path.join(folder, "link to a file"));
  symlinkSync("/etc", path.join(folder, "link to a folder"));
  execFileSync("mkfifo", [path.join(folder, "pipe")]);
  writeFileSync(Buffer.concat([Buffer.from(`${folder}/not UTF-8 `), Buffer.from([0xff, 0xfe])]), "never listed");
  writeFileSync(path.join(folder, "unreadable"), "never read");
  chmodSync(path.join(folder, "unreadable"), 0o000);
  mkdirSync(path.join(folder, "closed"));
  writeFileSync(path.join(folder, "closed/inside"), "never entered", { mode: 0o000 });
  chmodSync(path.join(folder, "closed"), 0o000);
  // A socket's path must be short, so it is bound from within the folder.
  const here = process.cwd();
  process.chdir(folder);
  try {
    return createServer().listen("socket");
  } finally {
    process.chdir(here);
  }
}

function close(server: Server, folder: string): void {
  server.close();
  chmodSync(path.join(folder, "closed"), 0o755); // otherwise only root could remove it
}

/** Returns what `find` and `sha256sum` report about the readable regular files whose names are UTF-8. */
function factsOf(folder: string): Map<string, FileFacts> {
  const readable = ["-path", "./closed", "-prune", "-o", "-type", "f", "-perm", "/444"];
  const run = (program: string, args: string[], input?: Buffer) =>
    execFileSync(program, args, { cwd: folder, maxBuffer: MOST_OUTPUT, ...(input ? { input } : {}) });
  const names = run("find", [".", ...readable, "-print0"]);
  const sums = records(run("xargs", ["-0", "sha256sum", "-z", "--"], names)).map((record) => ({
    path: record.subarray(68),
    sha256: record.subarray(0, 64).toString("latin1"),
  }));
  const sizes = new Map(
    records(run("find", [".", ...readable, "-printf", "%s %T@ %P\\0"])).map((record) => {
      const [size = "", time = ""] = record.toString("latin1").split(" ", 2);
      const name = record.subarray(size.length + time.length + 2).toString("latin1");
      return [name, { size: Number(size), modifiedSeconds: Math.floor(Number(time)) }] as const;
    }),
  );
  const found = sums
    .filter(({ path }) => isUtf8(path))
    .map(({ path, sha256 }) => {
      const facts = sizes.get(path.toString("latin1"));
      if (!facts) throw new Error("find and sha256sum do not agree");
      return { path: path.toString("utf8"), sha256, ...facts };
    });
  return new Map(found.map((facts) => [facts.path, facts]));
}

function records(output: Buffer): Buffer[] {
  const found: Buffer[] = [];
  for (let from = 0, to = output.indexOf(0); to >= 0; from = to + 1, to = output.indexOf(0, from)) {
    found.push(output.subarray(from, to));
  }
  return found;
}
