import { IncomingMessage, type OutgoingHttpHeaders, ServerResponse } from "node:http";
import { Socket } from "node:net";
import { Writable } from "node:stream";
import { withDeadline } from "@/lib/async/deadline";

/** The framework's request handler. */
export type NextHandler = (req: IncomingMessage, res: ServerResponse) => Promise<void>;

export interface RenderedPage {
  readonly status: number;
  readonly headers: OutgoingHttpHeaders;
  readonly body: string;
}

/** Longer than any page takes on a machine that does a hundred other things. */
const RENDERED_WITHIN_MS = 60_000;
/** Larger than any page: without a real connection, a response that waits for `drain` would wait forever. */
const NEVER_FULL = 2 ** 30;

/**
 * Renders a page without a connection, so that no slow reader delays it. Rejects when the handler does, and when the
 * answer is not complete within a minute.
 */
export function renderPage(
  handler: NextHandler,
  path: string,
  headers: Readonly<Record<string, string>>,
): Promise<RenderedPage> {
  const req = new IncomingMessage(new Socket());
  Object.assign(req, { method: "GET", url: path, httpVersion: "1.1", httpVersionMajor: 1, httpVersionMinor: 1 });
  Object.assign(req.headers, { host: "localhost", ...headers });
  req.push(null);
  const res = new ServerResponse(req);
  const chunks: Buffer[] = [];
  const take = (chunk: unknown, encoding: unknown) => {
    if (typeof chunk === "string")
      chunks.push(Buffer.from(chunk, typeof encoding === "string" ? (encoding as BufferEncoding) : "utf8"));
    else if (chunk instanceof Uint8Array) chunks.push(Buffer.from(chunk));
  };
  const [write, end] = [res.write, res.end];
  res.write = ((...args: Parameters<typeof write>) => {
    take(args[0], args[1]);
    return write.apply(res, args);
  }) as typeof write;
  res.end = ((...args: Parameters<typeof end>) => {
    // `end` does not pass its chunk through `write`.
    take(args[0], args[1]);
    return end.apply(res, args);
  }) as typeof end;
  res.assignSocket(
    new Writable({ highWaterMark: NEVER_FULL, write: (_chunk, _encoding, done) => done() }) as unknown as Socket,
  );
  const rendered = new Promise<RenderedPage>((resolve, reject) => {
    res.once("finish", () => {
      resolve({ status: res.statusCode, headers: res.getHeaders(), body: Buffer.concat(chunks).toString("utf8") });
    });
    handler(req, res).catch(reject);
  });
  return withDeadline(rendered, RENDERED_WITHIN_MS, () => {
    throw new Error(`${path} was not rendered in time`);
  });
}
