import { once } from "node:events";
import { connect } from "node:net";

/** Sends bytes unchanged. Returns what comes back until the server closes the connection or falls silent. */
export async function raw(url: string, text: string | Buffer[], silenceMs = 1500): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.setMaxListeners(0);
  let answer = "";
  socket.on("data", (chunk) => {
    answer += chunk;
  });
  socket.on("error", () => {});
  socket.setTimeout(silenceMs, () => socket.destroy());
  await once(socket, "connect");
  for (const part of typeof text === "string" ? [text] : text) {
    if (socket.destroyed) break;
    if (!socket.write(part)) await Promise.race([once(socket, "drain"), once(socket, "close")]).catch(() => {});
  }
  if (!socket.closed) await once(socket, "close");
  return answer;
}

/** Returns a request line with headers, for {@link raw}. */
export function request(method: string, target: string, headers: Record<string, string> = {}): string {
  const lines = Object.entries({ host: "127.0.0.1", connection: "close", ...headers }).map(
    ([name, value]) => `${name}: ${value}`,
  );
  return `${method} ${target} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n`;
}

/** Returns the status code of a raw answer; 0 when there was none. */
export function statusOf(answer: string): number {
  return Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1] ?? 0);
}
