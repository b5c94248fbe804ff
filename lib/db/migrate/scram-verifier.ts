import { createHash, createHmac, pbkdf2Sync, randomBytes } from "node:crypto";

const SCRAM_ITERATIONS = 4096;

/**
 * Returns the verifier that the server stores for a password. Sent in its place, so no statement log shows a password.
 */
export function scramVerifier(password: string): string {
  const salt = randomBytes(16);
  const salted = pbkdf2Sync(password, salt, SCRAM_ITERATIONS, 32, "sha256");
  const hmac = (text: string) => createHmac("sha256", salted).update(text).digest();
  const storedKey = createHash("sha256").update(hmac("Client Key")).digest("base64");
  return `SCRAM-SHA-256$${SCRAM_ITERATIONS}:${salt.toString("base64")}$${storedKey}:${hmac("Server Key").toString("base64")}`;
}
