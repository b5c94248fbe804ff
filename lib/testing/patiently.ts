import { setTimeout as sleep } from "node:timers/promises";

const MOST_TRIES = 5;
const TRY_AGAIN_MS = 2000;

/**
 * Sends a request again, as a client does, when the answer is 503: on a machine that is busy with other tests, a server may
 * take longer than it has. For requests that may be repeated.
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
