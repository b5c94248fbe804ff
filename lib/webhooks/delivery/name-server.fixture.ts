import { createSocket } from "node:dgram";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { ANSWER_BYTES } from "./dns-query";

/** The answers for a name: IPv4 addresses, one list per successive query, or `silence`. */
export type Zone = Readonly<Record<string, readonly (readonly string[])[] | "silence">>;

interface NameServer {
  readonly address: string;
  /** The names of all A queries. */
  readonly asked: readonly string[];
  close(): void;
}

/**
 * Starts a name server that answers A queries from a zone (`*.x` matches all names below x), and NXDOMAIN otherwise.
 * Sends long answers over TCP only.
 */
export async function startNameServer(zone: Zone): Promise<NameServer> {
  const [socket, server] = [createSocket("udp4"), createServer()];
  const asked: string[] = [];
  const answer = (query: Buffer): Buffer | null => {
    const { name, type, end } = questionOf(query);
    const key = Object.hasOwn(zone, name) ? name : `*.${name.split(".").slice(-2).join(".")}`;
    const answers = zone[key];
    if (answers === "silence") return null;
    const isA = type === 1;
    const times = asked.filter((one) => one === name).length;
    if (isA) asked.push(name);
    const addresses = isA && answers ? (answers[Math.min(times, answers.length - 1)] ?? []) : [];
    return answerTo(query, end, answers ? addresses : null);
  };
  server.on("connection", (connection) => {
    connection.on("error", () => undefined);
    connection.on("data", (bytes) => {
      const whole = answer(bytes.subarray(2));
      if (whole) connection.write(Buffer.concat([Buffer.from([whole.length >> 8, whole.length & 0xff]), whole]));
    });
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  socket.on("message", (query, from) => {
    const whole = answer(query);
    if (whole) socket.send(whole.length > ANSWER_BYTES ? truncated(whole) : whole, from.port, from.address);
  });
  await once(socket.bind(port, "127.0.0.1"), "listening");
  const close = () => {
    socket.close();
    server.close();
  };
  return { address: `127.0.0.1:${port}`, asked, close };
}

/** The beginning of an answer, marked as truncated. */
function truncated(answer: Buffer): Buffer {
  const { end } = questionOf(answer);
  const short = Buffer.from(answer.subarray(0, end));
  short.writeUInt16BE(0x8380, 2);
  short.writeUInt16BE(0, 6);
  return short;
}

function questionOf(query: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.subarray(at + 1, at + 1 + length).toString("latin1"));
    at += length + 1;
  }
  return { name: labels.join(".").toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 };
}

/** Null: the name does not exist. */
function answerTo(query: Buffer, end: number, addresses: readonly string[] | null): Buffer {
  const header = Buffer.from(query.subarray(0, 12));
  header.writeUInt16BE(addresses === null ? 0x8183 : 0x8180, 2);
  header.writeUInt16BE(addresses?.length ?? 0, 6);
  header.writeUInt32BE(0, 8);
  const records = (addresses ?? []).map((address) => {
    const record = Buffer.from([0xc0, 0x0c, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0]);
    for (const [index, part] of address.split(".").entries()) record[12 + index] = Number(part);
    return record;
  });
  return Buffer.concat([header, query.subarray(12, end), ...records]);
}
