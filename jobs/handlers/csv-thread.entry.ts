import { parentPort } from "node:worker_threads";
import { JobError } from "@/lib/execution/errors";
import { buffersOf, packBatch } from "./csv-packed";
import type { FromCsvThread, ToCsvThread } from "./csv-protocol";
import { type HeldBytes, readRows } from "./csv-rows";

// Reads one CSV file outside the worker's event loop. It sends one message and waits for the answer, so at most one
// chunk and one batch are in flight.

/** The records of a piece are in memory at once. */
const PIECE_BYTES = 32 * 1024;

if (!parentPort) throw new Error("this file runs as a worker thread");
const port = parentPort;
let heard: (message: ToCsvThread) => void = () => undefined;
port.on("message", (message: ToCsvThread) => heard(message));

function hear(): Promise<ToCsvThread> {
  return new Promise((resolve) => {
    heard = resolve;
  });
}

function ask(message: FromCsvThread, transferred: readonly ArrayBuffer[] = []): Promise<ToCsvThread> {
  const answer = hear();
  port.postMessage(message, transferred);
  return answer;
}

async function* chunks(held: HeldBytes): AsyncGenerator<Buffer> {
  for (;;) {
    const answer = await ask({ type: "more", heldBytes: held.bytes });
    if (answer.type !== "chunk" || answer.bytes === null) return;
    const { buffer, byteOffset, byteLength } = answer.bytes;
    for (let at = 0; at < byteLength; at += PIECE_BYTES) {
      yield Buffer.from(buffer, byteOffset + at, Math.min(PIECE_BYTES, byteLength - at));
    }
  }
}

async function read(): Promise<FromCsvThread> {
  const first = await hear();
  if (first.type !== "begin") throw new Error(`unexpected message ${first.type}`);
  const held: HeldBytes = { bytes: 0 };
  try {
    for await (const rows of readRows(chunks(held), first.options, held)) {
      const batch = packBatch(rows);
      await ask({ type: "batch", batch }, buffersOf(batch));
    }
    return { type: "done" };
  } catch (error) {
    if (!(error instanceof JobError)) return { type: "failed", error: error as Error, job: null };
    const { message, errorType, retryable } = error;
    return { type: "failed", error: new Error(message), job: { errorType, retryable } };
  }
}

port.postMessage(await read());
port.close();
