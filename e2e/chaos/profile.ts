/** True for the long form of the fault tests (`npm run chaos`); the short form is part of every test run. */
export const isLong = process.env.CHAOS_FORM === "long";

/**
 * Seed of the random choices. The short form makes the same choices in every run, so that a failure is caused by the
 * change. The long form draws a new seed and prints it.
 */
export const seed = Number(process.env.CHAOS_SEED ?? 20261128);

/** How often each fault suite runs. */
export const REPEATS = Number(process.env.CHAOS_REPEAT ?? 1);

let arenas = 0;
/** Returns the seed of the next arena: `seed` for the first one, one more for each after it. */
export const nextSeed = (): number => seed + arenas++;

export const pick = <T>(sizes: { readonly short: T; readonly long: T }): T => (isLong ? sizes.long : sizes.short);
