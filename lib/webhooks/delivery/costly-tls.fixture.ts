import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { Worker } from "node:worker_threads";

export interface TlsReceiver {
  readonly url: string;
  /** What went wrong in handshakes, as the receiver sees it. */
  readonly errors: string[];
  close(): Promise<unknown>;
}

const SERVER = `
const { parentPort, workerData } = require("node:worker_threads");
const server = require("node:https").createServer(workerData, (_request, response) => response.end("ok"));
server.on("tlsClientError", ({ code }) => parentPort.postMessage(code));
server.listen(0, "127.0.0.1", () => parentPort.postMessage(server.address().port));
`;

/** A receiver in a thread of its own, with these options of a TLS server. */
export async function startTlsReceiver(options: Readonly<Record<string, unknown>>): Promise<TlsReceiver> {
  const thread = new Worker(SERVER, { eval: true, workerData: options });
  const errors: string[] = [];
  const port = await new Promise((resolve) => thread.once("message", resolve));
  thread.on("message", (code) => errors.push(String(code)));
  return { url: `https://127.0.0.1:${port}/`, errors, close: () => thread.terminate() };
}

/**
 * A key and a chain of certificates that each sign the next one. Signing is cheap and checking is not, because the public
 * exponent is as long as the modulus. A client takes 100 KB of certificates.
 */
export function costlyChain(length: number): { readonly key: string; readonly cert: string } {
  const key = keyWithLongExponent();
  const spki = createPublicKey(key).export({ type: "spki", format: "der" });
  const chain = Array.from({ length }, (_, at) =>
    certificate(key, spki, { name: at, issuer: Math.min(at + 1, length - 1) }),
  );
  return { key: String(key.export({ type: "pkcs1", format: "pem" })), cert: chain.join("") };
}

function keyWithLongExponent(): KeyObject {
  const usual = generateKeyPairSync("rsa", { modulusLength: 3072 }).privateKey.export({ format: "jwk" });
  const [p, q] = [numberOf(usual.p), numberOf(usual.q)];
  const d = 65_537n;
  const e = inverse(d, (p - 1n) * (q - 1n));
  const parts = { e: textOf(e), d: textOf(d), dp: textOf(d % (p - 1n)), dq: textOf(d % (q - 1n)) };
  return createPrivateKey({ key: { ...usual, ...parts }, format: "jwk" });
}

const numberOf = (text = ""): bigint => BigInt(`0x${Buffer.from(text, "base64url").toString("hex")}`);

function textOf(value: bigint): string {
  const hex = value.toString(16);
  return Buffer.from(hex.padStart(hex.length + (hex.length % 2), "0"), "hex").toString("base64url");
}

function inverse(value: bigint, modulus: bigint): bigint {
  let [rest, next, found, nextFound] = [modulus, value, 0n, 1n];
  while (next !== 0n) {
    const times = rest / next;
    [rest, next, found, nextFound] = [next, rest - times * next, nextFound, found - times * nextFound];
  }
  return found < 0n ? found + modulus : found;
}

const SHA256_WITH_RSA = Buffer.from("300d06092a864886f70d01010b0500", "hex");
const VALID = Buffer.from("301e170d3235303130313030303030305a170d3439303130313030303030305a", "hex");
const IS_CA = Buffer.from("a3133011300f0603551d130101ff040530030101ff", "hex");
const VERSION_3 = Buffer.from("a003020102", "hex");
const COMMON_NAME = Buffer.from("0603550403", "hex");

function certificate(key: KeyObject, spki: Buffer, { name, issuer }: { name: number; issuer: number }): string {
  const serial = der(0x02, Buffer.from([name + 1]));
  const toBeSigned = der(0x30, VERSION_3, serial, SHA256_WITH_RSA, named(issuer), VALID, named(name), spki, IS_CA);
  const signature = der(0x03, Buffer.from([0]), sign("sha256", toBeSigned, key));
  const text = der(0x30, toBeSigned, SHA256_WITH_RSA, signature).toString("base64");
  return `-----BEGIN CERTIFICATE-----\n${text.replace(/.{64}/g, "$&\n")}\n-----END CERTIFICATE-----\n`;
}

const named = (no: number): Buffer => der(0x30, der(0x31, der(0x30, COMMON_NAME, der(0x0c, Buffer.from(`n${no}`)))));

/** One value of DER. */
export function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}
