const BAND_NAMES = ["critical", "high", "normal", "low", "background"];

/** Bands by name or number (0 = critical … 4 = background); undefined = all. Throws for a name that is none. */
export function parseBands(names: readonly string[] | undefined): ReadonlySet<number> | undefined {
  if (names === undefined) return undefined;
  return new Set(
    names.map((name) => {
      const band = /^[0-4]$/.test(name) ? Number(name) : BAND_NAMES.indexOf(name);
      if (band < 0)
        throw new Error(`WORKER_BANDS: there is no band ${JSON.stringify(name)}; use ${BAND_NAMES.join(", ")}`);
      return band;
    }),
  );
}
