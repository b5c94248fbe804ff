import { createSocket } from "node:dgram";
import { once } from "node:events";
import type { AddressInfo } from "node:net";

/** The answers for a name: IPv4 addresses, one list per successive query, or `silence`. */
export type Zone = Readonly<Record<string, readonly (readonly string[])[] | "silence">>;

/**
 * Starts a name server that answers A queries from a zone (`*.x` matches all names below x), and NXDOMAIN otherwise.
 */
export async function startNameServer(zone: Zone): Promise<{ address: string; asked: string[]; close(): void }> {
  const socket = createSocket("udp4");
  const asked: string[] = [];
  socket.on("message", (query, from) => {
    const { name, type, end } = questionOf(query);
    const key = Object.hasOwn(zone, name) ? name : `*.${name.split(".").slice(-2).join(".")}`;
    const answers = zone[key];
    if (answers === "silence") return;
    const isA = type === 1;
    const times = asked.filter((one) => one === name).length;
    if (isA) asked.push(name);
    const addresses = isA && answers ? (answers[Math.min(times, answers.length - 1)] ?? []) : [];
    socket.send(answerTo(query, end, answers ? addresses : null), from.port, from.address);
  });
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  const { port } = socket.address() as AddressInfo;
  return { address: `127.0.0.1:${port}`, asked, close: () => socket.close() };
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
