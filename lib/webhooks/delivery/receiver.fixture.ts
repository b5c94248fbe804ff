import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface Received {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A receiver of webhooks on this machine. */
export interface Receiver {
  readonly port: number;
  readonly url: string;
  readonly received: Received[];
  /** How many connections were opened in total, and how many are open. */
  readonly connections: { opened: number; open: number };
  /** Answers requests from now on. */
  answer: (request: IncomingMessage, response: ServerResponse, received: Received) => void;
  close(): Promise<void>;
}

export async function startReceiver(): Promise<Receiver> {
  const receiver: Omit<Receiver, "port" | "url" | "close"> = {
    received: [],
    connections: { opened: 0, open: 0 },
    answer: (_request, response) => void response.writeHead(204).end(),
  };
  const listener: RequestListener = (request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("error", () => undefined);
    request.on("end", () => {
      const received = {
        method: request.method ?? "",
        path: request.url ?? "",
        headers: request.headers as Record<string, string>,
        body: Buffer.concat(chunks).toString("utf8"),
      };
      receiver.received.push(received);
      receiver.answer(request, response, received);
    });
  };
  const server: Server = createServer({ keepAliveTimeout: 0 }, listener);
  server.on("connection", (socket) => {
    receiver.connections.opened += 1;
    receiver.connections.open += 1;
    socket.on("error", () => undefined);
    socket.on("close", () => {
      receiver.connections.open -= 1;
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return Object.assign(receiver, {
    port,
    url: `http://127.0.0.1:${port}/hook`,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  });
}
