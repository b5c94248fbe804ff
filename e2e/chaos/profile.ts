/** How much of the faults is tried: a short form with every run of the tests, the long one with `npm run chaos`. */
export const isLong = process.env.CHAOS_FORM === "long";

/**
 * What the random choices follow from. The short form makes the same ones in every run, so that a failure is the doing of
 * what was changed; the long form draws a new seed, and prints it.
 */
export const seed = Number(process.env.CHAOS_SEED ?? 20261128);

/** How often each suite of faults is played. */
export const REPEATS = Number(process.env.CHAOS_REPEAT ?? 1);

let arenas = 0;
/** The seed of the next arena: `seed` for the first one, one more for each after it. */
export const nextSeed = (): number => seed + arenas++;

export const pick = <T>(sizes: { readonly short: T; readonly long: T }): T => (isLong ? sizes.long : sizes.short);
