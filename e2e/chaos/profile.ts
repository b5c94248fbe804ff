/** How much of the faults is tried: a short form with every run of the tests, the long one with `npm run chaos`. */
export const isLong = process.env.CHAOS_FORM === "long";

/** What the random choices follow from. Printed, so that a run can be made again: `CHAOS_SEED=… npm run chaos`. */
export const seed = Number(process.env.CHAOS_SEED ?? Math.floor(Math.random() * 2 ** 31));

export const pick = <T>(sizes: { readonly short: T; readonly long: T }): T => (isLong ? sizes.long : sizes.short);
