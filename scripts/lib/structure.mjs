// Counts that show how hard the code is to read: sizes of folders, files and functions, names defined twice, phrases.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";
import ts from "typescript";
import { inRoot } from "./paths.mjs";

const SOURCE = /\.(?:ts|tsx|mjs|cjs)$/;
const TEST = /\.(?:test|fixture)\.tsx?$|^e2e\//;
/** Functions are as long as their bodies, without blank lines and comments. */
const LONG_FUNCTION = 50;
/** Next.js finds these files by name and requires the same export names in each. */
const ROUTE = /^app\/.*\/?(?:route|page|layout|loading|error|not-found|template)\.tsx?$|^app\/[^/]*\.tsx?$/;

/**
 * Phrases that make a reader guess the subject, with what to write instead. Constants in capitals are not prose.
 * @type {readonly (readonly [RegExp, string])[]}
 */
export const WORST_PHRASES = [
  [/\b[Ww]hoever\b/, "name the caller, the worker, the reader"],
  [/\b(?:[Nn]o|[Ss]ome)body\b/, "name the subject, or write that no job, worker or row does it"],
  [/\banew\b/i, "again"],
  [/\bsigns? of life\b/i, "heartbeat"],
  [/\bis away\b/i, "is disconnected, is down"],
  [/\bas many as it may\b/i, "the limit is reached"],
  [/\bany more\b/i, "no longer"],
  [/\bwhat is over\b/i, "expired rows"],
  [/\bwhat became of\b/i, "the outcome, the result, the status"],
  [/\b(?:told|tells?) of\b/i, "logs, publishes, lists, reports"],
  [/\b(?:is|are|was|were|be) told\b/i, "is notified, is asked, learns"],
  [/\bmakes? sure that\b/i, "checks, guarantees"],
  [/\bmakes? up for\b/i, "catches up on, replaces"],
  [/\b(?:holds?|held) up\b/i, "delays, blocks"],
];
/** The Unix user: its name alone in quotes, or in a Markdown code span. */
const UNIX_USER = /"nobody:?"|`(?:user )?nobody`/g;
/** Has a variable that holds the id of the Unix user. */
const UNIX_USER_FILE = "lib/execution/process/work-folder.test.ts";

/** @typedef {{ readonly name: string, readonly lines: number, readonly isReact: boolean }} LongFunction */

/**
 * @returns each figure as the list of its items
 */
export function structure() {
  const tracked = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], {
    cwd: inRoot(),
    encoding: "utf8",
    maxBuffer: 1e8,
  })
    .split("\n")
    .filter(Boolean);
  const sources = tracked.filter((file) => SOURCE.test(file) && !TEST.test(file));
  const trees = new Map(sources.map((file) => [file, parse(file)]));
  return {
    fullFolders: fullFolders(sources),
    longFiles: tracked
      .filter((file) => SOURCE.test(file) || file.endsWith(".sql"))
      .map((file) => [file, lineCount(file)])
      .filter(([file, lines]) => Number(lines) > 300 && !String(file).startsWith("drizzle/")),
    longFunctions: [...trees].flatMap(([file, tree]) =>
      file.startsWith("lib/testing/") ? [] : longFunctions(file, tree),
    ),
    twiceDefined: twiceDefined(trees),
    sqlFunctionsTwice: sqlFunctionsTwice(tracked),
    worstPhrases: worstPhrases(tracked),
    words: { docs: words(tracked.filter((file) => file.endsWith(".md"))), comments: commentWords(trees) },
  };
}

/** @param {string} file */
const read = (file) => readFileSync(inRoot(file), "utf8");
/** @param {string} file */
const lineCount = (file) => read(file).trimEnd().split("\n").length;

/** @param {string} file */
function parse(file) {
  const kind = file.endsWith("x")
    ? ts.ScriptKind.TSX
    : SOURCE.test(file) && !file.endsWith("ts")
      ? ts.ScriptKind.JS
      : ts.ScriptKind.TS;
  return ts.createSourceFile(file, read(file), ts.ScriptTarget.Latest, true, kind);
}

/**
 * Folders with the number of source files directly in them, the fullest first. Routes and pages do not count.
 * @param {readonly string[]} sources
 */
function fullFolders(sources) {
  const counts = new Map();
  for (const file of sources) {
    if (ROUTE.test(file)) continue;
    const folder = path.posix.dirname(file);
    counts.set(folder, (counts.get(folder) ?? 0) + 1);
  }
  return [...counts].filter(([, count]) => count > 20).sort((a, b) => b[1] - a[1]);
}

/**
 * @param {string} file
 * @param {ts.SourceFile} tree
 * @returns {LongFunction[]}
 */
function longFunctions(file, tree) {
  /** @type {LongFunction[]} */
  const found = [];
  /** @param {ts.Node} node */
  const visit = (node) => {
    if (ts.isFunctionLike(node) && "body" in node && node.body) {
      const body = /** @type {ts.Node} */ (node.body).getText(tree);
      const lines = body.split("\n").filter((line) => !/^\s*(?:\/\/.*|\/?\*.*|[{}]?)$/.test(line)).length;
      const line = tree.getLineAndCharacterOfPosition(node.getStart(tree)).line + 1;
      if (lines > LONG_FUNCTION)
        found.push({ name: `${file}:${line}`, lines, isReact: file.endsWith(".tsx") || isHook(node) });
    }
    ts.forEachChild(node, visit);
  };
  visit(tree);
  return found;
}

/** @param {ts.Node} node */
const isHook = (node) => ts.isFunctionDeclaration(node) && /^use[A-Z]/.test(node.name?.text ?? "");

/**
 * Names that two files or more define and export, with those files. A re-export defines nothing.
 * @param {ReadonlyMap<string, ts.SourceFile>} trees
 */
function twiceDefined(trees) {
  /** @type {Map<string, string[]>} */
  const places = new Map();
  for (const [file, tree] of trees) {
    if (ROUTE.test(file) || file.startsWith("bench/")) continue;
    for (const name of exportedNames(tree)) places.set(name, [...(places.get(name) ?? []), file]);
  }
  return [...places].filter(([, files]) => files.length > 1).sort();
}

/**
 * @param {ts.SourceFile} tree
 * @returns {Set<string>}
 */
function exportedNames(tree) {
  const names = new Set();
  for (const statement of tree.statements) {
    const modifiers = ts.canHaveModifiers(statement) ? (ts.getModifiers(statement) ?? []) : [];
    const isExported = modifiers.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword);
    if (!isExported || modifiers.some(({ kind }) => kind === ts.SyntaxKind.DefaultKeyword)) continue;
    if (ts.isVariableStatement(statement))
      for (const { name } of statement.declarationList.declarations) names.add(name.getText(tree));
    else if ("name" in statement && statement.name) names.add(/** @type {ts.Identifier} */ (statement.name).text);
  }
  return names;
}

/**
 * Functions of schema `app` that have a text in more than one file.
 * @param {readonly string[]} tracked
 */
function sqlFunctionsTwice(tracked) {
  const places = new Map();
  for (const file of tracked.filter((name) => /^drizzle\/.*\.sql$/.test(name)))
    for (const [, name] of read(file).matchAll(/^create (?:or replace )?function (app\.\w+)/gm))
      places.set(name, [...(places.get(name) ?? []), file]);
  return [...places].filter(([, files]) => files.length > 1);
}

/**
 * Lines of tracked files that contain one of the phrases, except the files that list them.
 * @param {readonly string[]} tracked
 */
function worstPhrases(tracked) {
  const here = new Set(["scripts/lib/structure.mjs", "scripts/lib/structure.test.ts", "CONTRIBUTING.md"]);
  return tracked
    .filter((file) => (SOURCE.test(file) || /\.(?:sql|md|sh|yml|py|css)$/.test(file)) && !here.has(file))
    .flatMap((file) =>
      read(file)
        .split("\n")
        .flatMap((line, at) => phrasesIn(withoutUnixUser(file, line)).map((why) => `${file}:${at + 1}: ${why}`)),
    );
}

/**
 * Returns each of the phrases in a line, with what to write instead.
 * @param {string} line
 */
export const phrasesIn = (line) =>
  WORST_PHRASES.flatMap(([pattern, instead]) => {
    const [phrase] = line.match(pattern) ?? [];
    return phrase === undefined ? [] : [`"${phrase}", write instead: ${instead}`];
  });

/**
 * Returns a line without the name of the Unix user.
 * @param {string} file
 * @param {string} line
 */
export const withoutUnixUser = (file, line) => line.replace(file === UNIX_USER_FILE ? /\bnobody\b/g : UNIX_USER, "");

/** @param {readonly string[]} files */
const words = (files) => files.reduce((sum, file) => sum + read(file).split(/\s+/).length, 0);

/** @param {ReadonlyMap<string, ts.SourceFile>} trees */
function commentWords(trees) {
  let count = 0;
  for (const [, { text }] of trees)
    for (const [comment] of text.matchAll(/\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/[^\n]*/g))
      count += comment.split(/[\s/*]+/).filter(Boolean).length;
  return count;
}
