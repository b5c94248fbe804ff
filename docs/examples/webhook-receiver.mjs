// Receives webhooks, checks their signatures and prints them. Needs Node alone:
//   WEBHOOK_SECRET=whsec_… node docs/examples/webhook-receiver.mjs 8080
import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";

const TOLERANCE_SECONDS = 300;
const MOST_BYTES = 1024 * 1024;
const secret = process.env.WEBHOOK_SECRET ?? "";
const seen = new Set();

if (!secret.startsWith("whsec_")) {
  console.error("Set WEBHOOK_SECRET to the secret of your endpoint.");
  process.exit(1);
}

/** Whether one of the signatures is that of this secret, and the message was sent just now. */
function isGenuine(headers, body) {
  const { "webhook-id": id, "webhook-timestamp": time, "webhook-signature": signatures = "" } = headers;
  if (!(Math.abs(Date.now() / 1000 - Number(time)) <= TOLERANCE_SECONDS)) return false;
  const key = Buffer.from(secret.slice("whsec_".length), "base64");
  const wanted = createHmac("sha256", key).update(`${id}.${time}.`).update(body).digest();
  return signatures.split(" ").some((signature) => {
    const [version, text = ""] = signature.split(",");
    const given = Buffer.from(text, "base64");
    return version === "v1" && given.length === wanted.length && timingSafeEqual(given, wanted);
  });
}

const server = createServer(async (request, response) => {
  const chunks = [];
  let size = 0;
  for await (const chunk of request) {
    size += chunk.length;
    if (size > MOST_BYTES) return response.writeHead(413).end();
    chunks.push(chunk);
  }
  const body = Buffer.concat(chunks);
  if (!isGenuine(request.headers, body)) {
    console.log(JSON.stringify({ refused: request.headers["webhook-id"] ?? null }));
    return response.writeHead(401).end("the signature does not fit");
  }
  const id = request.headers["webhook-id"];
  console.log(JSON.stringify({ id, repeated: seen.has(id), ...JSON.parse(body.toString("utf8")) }));
  seen.add(id);
  response.writeHead(204).end();
});

server.listen(Number(process.argv[2] ?? 8080), "127.0.0.1", () => {
  console.log(JSON.stringify({ listening: `http://127.0.0.1:${server.address().port}/` }));
});
