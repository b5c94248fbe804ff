import { STATUS_CODES } from "node:http";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { parentPort, workerData } from "node:worker_threads";
import type { FromHealthThread, HealthQuestion, HealthThreadData, Readiness, ToHealthThread } from "./health-protocol";
import { sharedCheck } from "./shared-check";
import { TZ_VERSION } from "./version";

// Answers health probes beside the event loop of the process. Each connection serves one request, in three seconds; the
// 65th open connection closes the oldest. Only the head of a request is read, because a parser would spend as long on
// the requests behind it as their client wants, and keep probes waiting.
const MOST_CONNECTIONS = 64;
const MOST_HEAD_BYTES = 4096;
const REQUEST_WITHIN_MS = 3000;
const END_OF_HEAD = "\r\n\r\n";
/** This thread sleeps for so long after it accepts a connection, so that a flood leaves the processor to others. */
const SLEEP_MS = 1;
/** Part of each answer of /readyz. */
const ABOUT = { tz_version: TZ_VERSION };

const { port, host } = workerData as HealthThreadData;
const main = parentPort;
if (!main) throw new Error("this file runs as a worker thread");

/** Questions that the main thread has not answered yet. */
const open = new Map<
  HealthQuestion,
  { readonly answer: Promise<Readiness>; readonly resolve: (is: Readiness) => void }
>();

/** Asks the main thread, which may be blocked; a question is not repeated before it is answered. */
function ask(question: HealthQuestion): Promise<Readiness> {
  const asked = open.get(question);
  if (asked) return asked.answer;
  let resolve: (is: Readiness) => void = () => undefined;
  const answer = new Promise<Readiness>((settle) => {
    resolve = settle;
  });
  open.set(question, { answer, resolve });
  main?.postMessage({ type: "ask", question } satisfies FromHealthThread);
  return answer;
}

const shareReadiness = () => sharedCheck(() => ask("ready"), false);
const live = sharedCheck(() => ask("live"), false);
let ready = shareReadiness();

main.on("message", (message: ToHealthThread) => {
  if (message.type === "outdated") {
    ready = shareReadiness();
    return;
  }
  open.get(message.question)?.resolve(message.is);
  open.delete(message.question);
});

const sockets = new Set<Socket>();
const never = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
const server = createServer((socket) => {
  sockets.add(socket);
  const late = setTimeout(() => socket.destroy(), REQUEST_WITHIN_MS);
  socket.once("close", () => {
    clearTimeout(late);
    sockets.delete(socket);
  });
  socket.on("error", () => undefined);
  let head = "";
  const read = (bytes: Buffer) => {
    head += bytes.toString("latin1", 0, MOST_HEAD_BYTES);
    if (!head.includes(END_OF_HEAD) && head.length < MOST_HEAD_BYTES) return;
    clearTimeout(late);
    socket.off("data", read).pause();
    void answerTo(head).then((answer) => send(socket, answer, head.startsWith("HEAD ")));
  };
  socket.on("data", read);
  // Not the newest: connections that are held open must not keep a probe out.
  const [oldest] = sockets;
  if (sockets.size > MOST_CONNECTIONS) oldest?.destroy();
  Atomics.wait(never, 0, 0, SLEEP_MS);
});
server.listen(port, host, () => {
  const { port: taken } = server.address() as AddressInfo;
  main.postMessage({ type: "listening", port: taken } satisfies FromHealthThread);
});

type Answer = readonly [status: number, body: object];

async function answerTo(head: string): Promise<Answer> {
  if (!head.includes(END_OF_HEAD)) return [431, { status: "request too long" }];
  const [method, url] = head.split(" ", 2);
  const path = url?.split("?")[0];
  if (method !== "GET" && method !== "HEAD") return [405, { status: "method not allowed" }];
  if (path === "/livez") return (await live()) ? [200, { status: "live" }] : [503, { status: "not live" }];
  return path === "/readyz" ? readiness(await ready()) : [404, { status: "not found" }];
}

function readiness(is: Readiness): Answer {
  if (is === true) return [200, { status: "ready", ...ABOUT }];
  if (is === false) return [503, { status: "not ready", ...ABOUT }];
  if (typeof is === "string") return [503, { status: "not ready", ...ABOUT, reason: is || undefined }];
  return [200, { status: "ready", ...ABOUT, notices: is.notices.length > 0 ? is.notices : undefined }];
}

function send(socket: Socket, [status, body]: Answer, headOnly: boolean): void {
  const text = JSON.stringify(body);
  const lines = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    `date: ${new Date().toUTCString()}`,
    "content-type: application/json",
    `content-length: ${Buffer.byteLength(text)}`,
    "cache-control: no-store",
    "connection: close",
  ];
  socket.write(lines.join("\r\n") + END_OF_HEAD + (headOnly ? "" : text));
  socket.destroySoon();
}
