import { parentPort } from "node:worker_threads";
import { post } from "@/lib/webhooks/delivery";
import type { FromWebhookThread, ToWebhookThread } from "./webhook-protocol";

// Sends webhooks beside the worker's event loop: a receiver chooses how much its certificates and its answer cost.

if (!parentPort) throw new Error("this file runs as a worker thread");
const port = parentPort;
const running = new Map<number, AbortController>();

port.on("message", (message: ToWebhookThread) => {
  if (message.type === "stop") running.get(message.no)?.abort("stopped");
  else void run(message);
});

async function run({ no, message }: Extract<ToWebhookThread, { type: "post" }>): Promise<void> {
  const abort = new AbortController();
  running.set(no, abort);
  const send = (said: FromWebhookThread) => port.postMessage(said);
  const answer = await post({ ...message, signal: abort.signal }, () => send({ type: "connected", no }));
  running.delete(no);
  if (!abort.signal.aborted) send({ type: "answer", no, answer });
}
