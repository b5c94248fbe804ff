import { once } from "node:events";
import { type AddressInfo, connect, type Socket } from "node:net";
import { afterEach, vi } from "vitest";
import { CLIENT_IP_HEADER } from "@/lib/api/http/request-info";
import { createFront, type FrontOptions } from "./front";

/** Called after each test. */
export const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** Starts a front before a framework that answers with the client's address. It ends with the test. */
export async function openFront(options: Partial<FrontOptions> = {}) {
  const log = { warn: vi.fn(), error: vi.fn() };
  const { server } = createFront({
    dev: false,
    origin: () => "http://localhost",
    deviceSecret: "a secret of this test",
    next: () => async (req, res) => void res.end(`client ${req.headers[CLIENT_IP_HEADER]}`),
    hosts: { names: ["leasehold.example.com"], anyAddress: false },
    trustedProxies: { hops: 0 },
    maxConnections: 200,
    log,
    ...options,
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  closing.push(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  const dial = async (text = ""): Promise<Socket> => {
    const socket = connect(port, "127.0.0.1");
    socket.on("error", () => {});
    closing.push(() => socket.destroy());
    await once(socket, "connect");
    socket.write(text);
    return socket;
  };
  const ask = async (text: string): Promise<string> => {
    const socket = await dial(text);
    let answer = "";
    for await (const chunk of socket) answer += chunk;
    return answer;
  };
  return { server, log, dial, ask };
}

/** Returns a request that closes its connection. */
export const get = (path: string, ...lines: string[]) =>
  [`GET ${path} HTTP/1.1`, ...lines, "connection: close", "", ""].join("\r\n");
