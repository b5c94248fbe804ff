import { randomInt } from "node:crypto";
import { createSocket } from "node:dgram";
import { isIP, isIPv6 } from "node:net";

/** The longest answer that is read. It fits the packets of every network, and has room for 40 IPv6 addresses. */
export const ANSWER_BYTES = 1232;
const QUERY_MS = 1000;
const LONGEST_MS = 3000;
const MOST_SERVERS = 3;
const DNS_PORT = 53;
const HEADER_BYTES = 12;
/** After the name of a record: type, class, time to live, and length of the data. */
const RECORD_BYTES = 10;
const TYPES = { 4: 1, 6: 28 } as const;
const ADDRESS_BYTES = { 4: 4, 6: 16 } as const;
const CODES = ["", "EFORMERR", "ESERVFAIL", "ENOTFOUND", "ENOTIMP", "EREFUSED"];

type Family = keyof typeof TYPES;

/** The error is null if there are addresses. `ETOOLONG`: the answer does not fit in `ANSWER_BYTES`. */
interface Answer {
  readonly addresses: readonly string[];
  readonly error: string | null;
}

interface Question {
  readonly family: Family;
  readonly id: number;
  /** Name, type and class as they are sent. */
  readonly bytes: Buffer;
}

/**
 * Queries name servers (`address` or `address:port`) for the addresses of a name, over UDP only. Never rejects.
 *
 * Node's resolver follows a truncated answer with 64 KiB over TCP. The owner of the name chooses what they contain, and
 * reading them takes up to 50 ms of processor time.
 */
export async function queryAddresses(host: string, family: Family, servers: readonly string[]): Promise<Answer> {
  const until = performance.now() + LONGEST_MS;
  const name = nameOf(host);
  if (name === null) return failed("EBADNAME");
  let last = failed("ENOSERVER");
  // The second round leaves out EDNS, which old servers do not know.
  for (const hasEdns of [true, false]) {
    for (const server of servers.slice(0, MOST_SERVERS)) {
      const ms = Math.min(QUERY_MS, until - performance.now());
      if (ms <= 0) return last;
      const bytes = Buffer.concat([name, Buffer.from([0, TYPES[family], 0, 1])]);
      last = await ask(server, { family, id: randomInt(0x10000), bytes }, { hasEdns, ms });
      if (isFinal(last)) return last;
    }
  }
  return last;
}

const failed = (error: string): Answer => ({ addresses: [], error });

/** True if no other server would answer otherwise. */
const isFinal = ({ error }: Answer): boolean =>
  error === null || error === "ENOTFOUND" || error === "ENODATA" || error === "ETOOLONG";

/** A name as a message has it; null if it is not a valid one. */
function nameOf(host: string): Buffer | null {
  const labels = host.split(".");
  if (host.length > 253 || !labels.every((label) => /^[\x21-\x7e]{1,63}$/.test(label))) return null;
  return Buffer.concat([...labels.map((label) => Buffer.from(`${String.fromCharCode(label.length)}${label}`)), ROOT]);
}

const ROOT = Buffer.from([0]);

/** Sends one query from a random port. Packets from other addresses and answers to other queries do not count. */
function ask(
  server: string,
  question: Question,
  { hasEdns, ms }: { readonly hasEdns: boolean; readonly ms: number },
): Promise<Answer> {
  const { address, port } = serverOf(server);
  const socket = createSocket(isIPv6(address) ? "udp6" : "udp4");
  return new Promise<Answer>((resolve) => {
    const timer = setTimeout(() => end(failed("ETIMEOUT")), ms);
    const end = (answer: Answer) => {
      clearTimeout(timer);
      socket.removeAllListeners("connect").removeAllListeners("message");
      resolve(answer);
    };
    socket.on("error", (error: NodeJS.ErrnoException) => end(failed(error.code ?? "ECONNREFUSED")));
    socket.on("message", (message) => {
      if (isAnswerTo(message, question)) end(read(message, question));
    });
    socket.once("connect", () => socket.send(queryOf(question, hasEdns)));
    socket.connect(port, address);
  }).finally(() => socket.close());
}

function serverOf(text: string): { readonly address: string; readonly port: number } {
  if (isIP(text) !== 0) return { address: text, port: DNS_PORT };
  const at = text.lastIndexOf(":");
  return { address: text.slice(0, at).replace(/^\[|\]$/g, ""), port: Number(text.slice(at + 1)) };
}

function queryOf({ id, bytes }: Question, hasEdns: boolean): Buffer {
  const wantsRecursion = 0x01;
  const header = [id >> 8, id & 0xff, wantsRecursion, 0, 0, 1, 0, 0, 0, 0, 0, hasEdns ? 1 : 0];
  const edns = [0, 0, 41, ANSWER_BYTES >> 8, ANSWER_BYTES & 0xff, 0, 0, 0, 0, 0, 0];
  return Buffer.concat([Buffer.from(header), bytes, Buffer.from(hasEdns ? edns : [])]);
}

function isAnswerTo(message: Buffer, { id, bytes }: Question): boolean {
  if (message.length < HEADER_BYTES + bytes.length || message.readUInt16BE(0) !== id) return false;
  const isAnswer = message.readUInt8(2) >= 0x80;
  const asked = message.subarray(HEADER_BYTES, HEADER_BYTES + bytes.length);
  return isAnswer && message.readUInt16BE(4) === 1 && lower(asked) === lower(bytes);
}

const lower = (bytes: Buffer): string => bytes.toString("latin1").toLowerCase();

function read(message: Buffer, { family, bytes }: Question): Answer {
  const isTruncated = (message.readUInt8(2) & 0x02) !== 0;
  if (isTruncated || message.length > ANSWER_BYTES) return failed("ETOOLONG");
  const code = message.readUInt8(3) & 0x0f;
  if (code !== 0) return failed(CODES[code] ?? "ESERVFAIL");
  try {
    const addresses = addressesIn(message, HEADER_BYTES + bytes.length, family);
    return addresses.length > 0 ? { addresses, error: null } : failed("ENODATA");
  } catch {
    return failed("EBADRESP");
  }
}

/** @throws RangeError if the message ends within a record */
function addressesIn(message: Buffer, begin: number, family: Family): string[] {
  const addresses: string[] = [];
  let at = begin;
  for (let left = message.readUInt16BE(6); left > 0; left -= 1) {
    at = afterName(message, at);
    const type = message.readUInt16BE(at);
    const length = message.readUInt16BE(at + RECORD_BYTES - 2);
    at += RECORD_BYTES + length;
    if (at > message.length) throw new RangeError("the record is incomplete");
    if (type !== TYPES[family] || length !== ADDRESS_BYTES[family]) continue;
    addresses.push(textOf(message.subarray(at - length, at)));
  }
  return addresses;
}

/** Steps over a name: labels that end with an empty one or with a reference to a name. */
function afterName(message: Buffer, begin: number): number {
  let at = begin;
  for (let length = message.readUInt8(at); length > 0; length = message.readUInt8(at)) {
    if (length >= 0xc0) return at + 2;
    at += length + 1;
  }
  return at + 1;
}

function textOf(address: Buffer): string {
  if (address.length === ADDRESS_BYTES[4]) return address.join(".");
  return Array.from({ length: 8 }, (_, at) => address.readUInt16BE(2 * at).toString(16)).join(":");
}
