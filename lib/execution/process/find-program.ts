import { existsSync } from "node:fs";

const FOLDERS = ["/usr/bin", "/bin", "/usr/sbin", "/sbin"];

/** Returns the path of a program of the system, without asking PATH; null if there is none. */
export const findProgram = (name: string): string | null =>
  FOLDERS.map((folder) => `${folder}/${name}`).find((path) => existsSync(path)) ?? null;
