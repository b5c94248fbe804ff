import { version } from "../../package.json";

/** Version of this installation, as its package.json names it. */
export const VERSION: string = version;
