import { version } from "../../package.json";

/** The version of this installation, from its package.json. */
export const VERSION: string = version;

/** The version of this Node's time-zone data, such as "2025b"; null if it has none. */
export const TZ_VERSION: string | null = process.versions.tz ?? null;
