import type { StreamEvent } from "./feed-source";

const RETRY_MS = 2000;
// A reader that is this far behind is disconnected; it reconnects and reads the current state.
const MAX_WAITING_CHUNKS = 1000;

export interface EventStream {
  readonly body: ReadableStream<Uint8Array>;
  send(event: StreamEvent): void;
  /** Keeps proxies from ending a silent connection. */
  heartbeat(): void;
  /** Sends a `bye` event, so that the client knows the end was intended, and ends the stream. */
  end(reason: string): void;
}

/** Returns a text/event-stream body. `onEnd` is called exactly once, whichever side ends the stream. */
export function eventStream(onEnd: () => void): EventStream {
  const encoder = new TextEncoder();
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  let number = 0;
  const over = () => {
    if (!controller) return;
    controller = undefined;
    onEnd();
  };
  const write = (text: string) => {
    if (!controller) return;
    if ((controller.desiredSize ?? 0) < -MAX_WAITING_CHUNKS) {
      controller.error(new Error("the reader is too slow"));
      return over();
    }
    controller.enqueue(encoder.encode(text));
  };
  const send = ({ event, data }: StreamEvent) => {
    number += 1;
    write(`id: ${number}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  };
  const body = new ReadableStream<Uint8Array>({
    start: (opened) => {
      controller = opened;
      write(`retry: ${RETRY_MS}\n\n`);
    },
    cancel: over,
  });
  return {
    body,
    send,
    heartbeat: () => write(": still here\n\n"),
    end: (reason) => {
      send({ event: "bye", data: { reason } });
      controller?.close();
      over();
    },
  };
}
