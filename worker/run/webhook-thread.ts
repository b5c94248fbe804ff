import { Worker } from "node:worker_threads";
import type { Post, ReceiverAnswer } from "@/lib/webhooks/delivery";
import type { FromWebhookThread, ToWebhookThread } from "./webhook-protocol";

/** Where the program of the thread is. Tests, which run from sources, set another place. */
export const webhookThreadFile = { url: new URL("./webhook-thread.mjs", import.meta.url) };

const HEAP_MB = 128;

interface WaitingPost {
  readonly settle: (answer: ReceiverAnswer) => void;
  /** Resends the post through the next thread. Null once the post has a connection or was resent. */
  again: (() => void) | null;
}

/**
 * Posts webhooks in one thread of this process. Checking the certificates of a receiver takes up to a second of
 * processor time, as the receiver chooses; here that delays other webhooks and nothing else. The thread starts with the
 * first post, and again after it died. The next thread resends posts that had no connection yet, but each only once,
 * because one of them may have crashed the thread. Posts with a connection fail, because they may have arrived.
 */
export class WebhookThread {
  #worker: Worker | null = null;
  #lastNo = 0;
  readonly #waiting = new Map<number, WaitingPost>();

  /** Posts once, as `post` of the delivery does. Never rejects. */
  readonly post = ({ signal, ...message }: Post): Promise<ReceiverAnswer> => {
    const began = performance.now();
    if (signal.aborted) return Promise.resolve(stopped(began));
    this.#lastNo += 1;
    const no = this.#lastNo;
    return new Promise((resolve) => {
      const start = () => send(this.#running(), { type: "post", no, message });
      const onAbort = () => {
        send(this.#running(), { type: "stop", no });
        waiting.settle(stopped(began));
      };
      const waiting: WaitingPost = {
        settle: (answer) => {
          this.#waiting.delete(no);
          signal.removeEventListener("abort", onAbort);
          resolve(answer);
        },
        again: () => {
          waiting.again = null;
          try {
            start();
          } catch {
            waiting.settle(ENDED);
          }
        },
      };
      start();
      this.#waiting.set(no, waiting);
      signal.addEventListener("abort", onAbort, { once: true });
    });
  };

  #running(): Worker {
    if (this.#worker) return this.#worker;
    const worker = new Worker(webhookThreadFile.url, {
      env: {},
      execArgv: ["--enable-source-maps"],
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MB, maxYoungGenerationSizeMb: 4 },
    });
    worker.on("message", (message: FromWebhookThread) => this.#hear(message));
    // An error is followed by the exit.
    worker.on("error", () => undefined);
    worker.on("exit", () => this.#died());
    // A process that stops does not wait for the thread.
    worker.unref();
    this.#worker = worker;
    return worker;
  }

  #hear(message: FromWebhookThread): void {
    const waiting = this.#waiting.get(message.no);
    if (!waiting) return;
    if (message.type === "connected") waiting.again = null;
    else waiting.settle({ ...message.answer, body: Buffer.from(message.answer.body) });
  }

  #died(): void {
    this.#worker = null;
    for (const { settle, again } of [...this.#waiting.values()]) {
      if (again) again();
      else settle(ENDED);
    }
  }
}

const send = (worker: Worker, message: ToWebhookThread): void => worker.postMessage(message);

const stopped = (began: number): ReceiverAnswer =>
  unanswered({ code: "stopped", detail: "the attempt was stopped" }, performance.now() - began);

const unanswered = (failed: ReceiverAnswer["failed"], ms: number): ReceiverAnswer => ({
  statusCode: null,
  failed,
  body: Buffer.alloc(0),
  retryAfter: null,
  durationMs: Math.round(ms),
});

const ENDED = unanswered({ code: "network", detail: "the thread that sends webhooks ended" }, 0);
