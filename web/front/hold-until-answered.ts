import type { ServerResponse } from "node:http";

/**
 * Runs `work` and calls `release` once: when the answer is complete, or when `work` has settled without one. Does not
 * wait until the client has read the answer. The framework does, and never settles if the client leaves before.
 */
export async function holdUntilAnswered(
  res: ServerResponse,
  work: () => Promise<void>,
  release: () => void,
): Promise<void> {
  let isHeld = true;
  const releaseOnce = () => {
    if (isHeld) release();
    isHeld = false;
  };
  const { end } = res;
  res.end = ((...args: Parameters<typeof end>) => {
    releaseOnce();
    return end.apply(res, args);
  }) as typeof end;
  try {
    await work();
  } finally {
    releaseOnce();
  }
}
