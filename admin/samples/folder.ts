/*
 * Sample files for the folders of the demo (admin/demo.ts): pictures, tables, notes, and odd but valid file names. The
 * content is the same on every run, each local user may read it, and existing files stay as they are.
 *
 * Start with `writeSamples` below; `csv.ts` and `png.ts` make the tables and the pictures.
 */

import { chmodSync, existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { contactsCsv, figuresCsv } from "./csv";
import { paintPng } from "./png";

const SIZES = { large: { albums: 12, pictures: 18, notes: 60 }, small: { albums: 3, pictures: 8, notes: 15 } };

// Odd but valid file names, all of them text.
const ODD_NAMES = [
  "two words.txt",
  'quote\'s "both" kinds.txt',
  "-rf leading dash.txt",
  "line\nbreak.txt",
  "émigré.txt",
  "写真 📷.txt",
  "percent%20sign&amp;.txt",
  "$(touch pwned) `id`.txt",
  "trailing dot..txt",
  "\ttab.txt",
];

/**
 * Fills a folder with typical files: pictures in albums, tables, notes, odd names, an empty file, a link. All are
 * readable for every local user, because commands may run as another one. Existing files stay as they are.
 */
export function writeSamples(root: string, size: keyof typeof SIZES): void {
  const { albums, pictures, notes } = SIZES[size];
  for (let album = 1; album <= albums; album++) {
    for (let picture = 1; picture <= pictures; picture++) {
      const name = `pictures/${2015 + album}/album ${album}/IMG_${String(picture).padStart(4, "0")}.png`;
      put(root, name, paintPng(24 + picture * 4, album * 31 + picture * 7));
    }
  }
  for (let note = 1; note <= notes; note++) put(root, `notes/week-${String(note).padStart(2, "0")}.md`, noteText(note));
  put(root, "tables/contacts.csv", contactsCsv(2000));
  put(root, "tables/with mistakes.csv", contactsCsv(200, { mistakes: true }));
  put(root, "tables/figures.csv", figuresCsv(5000));
  for (const name of ODD_NAMES) put(root, `odd names/${name}`, `The name of this file is ${JSON.stringify(name)}.\n`);
  put(root, "deep/a/b/c/d/e/f/g/h/bottom.txt", "Eight folders down.\n");
  put(root, "empty.dat", "");
  link(root, "link to notes", "notes");
}

function put(root: string, name: string, content: string | Uint8Array): void {
  const file = path.join(root, name);
  if (existsSync(file)) return;
  openFolder(path.dirname(file));
  writeFileSync(file, content);
  chmodSync(file, 0o644);
}

function openFolder(folder: string): void {
  if (existsSync(folder)) return;
  openFolder(path.dirname(folder));
  mkdirSync(folder);
  chmodSync(folder, 0o755);
}

function link(root: string, name: string, target: string): void {
  const file = path.join(root, name);
  rmSync(file, { force: true });
  symlinkSync(target, file);
}

function noteText(number: number): string {
  const lines = Array.from({ length: 5 + (number % 20) }, (_, line) => `- ${number}.${line + 1} something to remember`);
  return `# Week ${number}\n\n${lines.join("\n")}\n`;
}
