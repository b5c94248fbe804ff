import { Worker } from "node:worker_threads";
import type { Post, ReceiverAnswer } from "@/lib/webhooks/delivery";
import type { FromWebhookThread, ToWebhookThread } from "./webhook-protocol";

/** Where the program of the thread is. Tests, which run from sources, set another place. */
export const webhookThread = { url: new URL("./webhook-thread.mjs", import.meta.url) };

const HEAP_MB = 128;

/**
 * Posts webhooks in one thread of this process. Checking the certificates of a receiver takes up to a second of processor time,
 * as the receiver chooses; here that delays other webhooks and nothing else. The thread starts with the first post, and again
 * with the next one after it died.
 */
export class WebhookThread {
  #worker: Worker | null = null;
  #lastNo = 0;
  readonly #waiting = new Map<number, (answer: ReceiverAnswer) => void>();

  /** Posts once, as `post` of the delivery does. Never rejects. */
  readonly post = ({ signal, ...message }: Post): Promise<ReceiverAnswer> => {
    const began = performance.now();
    if (signal.aborted) return Promise.resolve(stopped(began));
    const worker = this.#running();
    this.#lastNo += 1;
    const no = this.#lastNo;
    return new Promise((resolve) => {
      const onAbort = () => {
        send(worker, { type: "stop", no });
        this.#waiting.get(no)?.(stopped(began));
      };
      this.#waiting.set(no, (answer) => {
        this.#waiting.delete(no);
        signal.removeEventListener("abort", onAbort);
        resolve(answer);
      });
      signal.addEventListener("abort", onAbort, { once: true });
      send(worker, { type: "post", no, message });
    });
  };

  #running(): Worker {
    if (this.#worker) return this.#worker;
    const worker = new Worker(webhookThread.url, {
      env: {},
      execArgv: ["--enable-source-maps"],
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MB, maxYoungGenerationSizeMb: 4 },
    });
    worker.on("message", ({ no, answer }: FromWebhookThread) =>
      this.#waiting.get(no)?.({ ...answer, body: Buffer.from(answer.body) }),
    );
    // An error is followed by the exit.
    worker.on("error", () => undefined);
    worker.on("exit", () => this.#died());
    // A process that stops does not wait for it.
    worker.unref();
    this.#worker = worker;
    return worker;
  }

  #died(): void {
    this.#worker = null;
    for (const resolve of [...this.#waiting.values()])
      resolve(unanswered({ code: "network", detail: "the thread that sends webhooks ended" }, 0));
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
