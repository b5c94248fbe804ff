import path from "node:path";
import { fileURLToPath } from "node:url";

/** Folder of this installation. */
export const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..", "..");

/** @param {string[]} parts */
export const inRoot = (...parts) => path.join(ROOT, ...parts);

/** Folder of runtime.json and demo.json, and of the data if possible. */
export const homeFolder = () => path.resolve(ROOT, process.env.LEASEHOLD_HOME?.trim() || ".leasehold");
