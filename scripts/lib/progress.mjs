const SHOW_LIFE_MS = 10_000;

/** @param {string} text */
export function say(text) {
  process.stdout.write(`${text}\n`);
}

/**
 * Runs a step that may take long. Reports that it begins, that it is still running, and how long it took.
 * @template T
 * @param {string} label
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function runStep(label, work) {
  const start = Date.now();
  const seconds = () => `${((Date.now() - start) / 1000).toFixed(1)} s`;
  say(`  ${label} …`);
  const life = setInterval(() => say(`  ${label}: still running, ${seconds()}`), SHOW_LIFE_MS);
  try {
    const result = await work();
    say(`  ${label}: done, ${seconds()}`);
    return result;
  } finally {
    clearInterval(life);
  }
}
