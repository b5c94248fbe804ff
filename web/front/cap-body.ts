import type { IncomingMessage } from "node:http";

const DRAIN_MS = 2000;
const DRAIN_FACTOR = 32;

/**
 * Stops a body that grows beyond `maxBytes`, with or without a declared length. Nothing beyond the cap reaches a route,
 * and memory stays flat. `onExceeded` is called when the client has sent its whole body, or enough of it: a client that
 * is answered while it still sends sees a broken pipe instead of the answer.
 */
export function capBody(req: IncomingMessage, maxBytes: number, onExceeded: () => void): { readonly refused: boolean } {
  const declared = Number(req.headers["content-length"] ?? 0);
  const drain = drainer(maxBytes * DRAIN_FACTOR, onExceeded);
  // A body that arrived while its request waited is buffered.
  let seen = req.readableLength;
  if (declared > maxBytes || seen > maxBytes) {
    req.on("data", (chunk: Buffer) => drain.took(chunk.length));
    req.on("end", drain.done);
    return { refused: true };
  }
  const push = req.push.bind(req);
  req.push = (chunk: Buffer | null, ...rest: []) => {
    if (chunk) seen += chunk.length;
    if (seen <= maxBytes) return push(chunk, ...rest);
    if (chunk) drain.took(chunk.length);
    else drain.done();
    return true;
  };
  return { refused: false };
}

function drainer(maxBytes: number, finished: () => void) {
  let bytes = 0;
  let timer: NodeJS.Timeout | undefined;
  let over = false;
  const done = () => {
    clearTimeout(timer);
    if (!over) finished();
    over = true;
  };
  const took = (length: number) => {
    bytes += length;
    timer ??= setTimeout(done, DRAIN_MS);
    if (bytes > maxBytes) done();
  };
  return { took, done };
}
