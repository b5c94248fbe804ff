import { setTimeout as sleep } from "node:timers/promises";

const MOST_TRIES = 5;
const TRY_AGAIN_MS = 2000;

/**
 * Resends a request after a 503, as a client does: on a machine that is busy with other tests, a server may exceed its
 * time limit. For requests that are safe to repeat.
 */
export async function patiently<Answer extends { readonly status: number | (() => number) }>(
  send: () => Promise<Answer>,
  mostTries = MOST_TRIES,
): Promise<Answer> {
  for (let tries = 1; ; tries += 1) {
    const answer = await send();
    const status = typeof answer.status === "function" ? answer.status() : answer.status;
    if (status !== 503 || tries === mostTries) return answer;
    await sleep(TRY_AGAIN_MS);
  }
}
