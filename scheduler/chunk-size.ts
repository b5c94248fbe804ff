/** Target duration of one chunk. */
const CHUNK_MS = 200;
const SHRINK_FACTOR = 10;
const GROWTH_FACTOR = 2;

/** Returns the next size, from the last size and duration. A null duration: the chunk took too long and was undone. */
export function nextChunkSize(size: number, tookMs: number | null): number {
  const times = tookMs === null ? 1 / SHRINK_FACTOR : CHUNK_MS / tookMs;
  return Math.ceil(size * Math.min(Math.max(times, 1 / SHRINK_FACTOR), GROWTH_FACTOR));
}
