import { version } from "../../package.json";

/** Version of this installation, as its package.json names it. */
export const VERSION: string = version;

/** Version of the time-zone data of this Node, such as "2025b"; null if it has none. */
export const TZ_VERSION: string | null = process.versions.tz ?? null;
