/** What the changes of one chunk should take. */
const CHUNK_MS = 200;
const SMALLER_BY = 10;
const LARGER_BY = 2;

/** Returns the size of the chunk after one of this size that took so long. Null: it took too long and was undone. */
export function nextChunkSize(size: number, tookMs: number | null): number {
  const times = tookMs === null ? 1 / SMALLER_BY : CHUNK_MS / tookMs;
  return Math.ceil(size * Math.min(Math.max(times, 1 / SMALLER_BY), LARGER_BY));
}
