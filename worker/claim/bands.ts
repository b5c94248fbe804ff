const BAND_NAMES = ["critical", "high", "normal", "low", "background"];

/**
 * Parses priority bands, each a name or a number (0 = critical … 4 = background); undefined means all bands.
 * @throws Error when a name is not a band
 */
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
