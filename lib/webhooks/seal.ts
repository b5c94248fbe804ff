import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";

const FORMAT = 1;
const IV_BYTES = 12;
const TAG_BYTES = 16;
const KEY_BYTES = 32;

/** A sealed value cannot be opened: it has another key or context, or was altered. */
export class UnsealError extends Error {
  override readonly name = "UnsealError";

  constructor() {
    super("a stored secret cannot be read: it was sealed under another DATA_KEY or LEASEHOLD_SECRET");
  }
}

/** Seals texts for the database, which sees neither the texts nor the key. */
export interface Sealer {
  /** `context` names the text and its owner; the sealed text opens only under the same context. */
  seal(text: string, context: string): Buffer;
  /** @throws UnsealError */
  open(sealed: Buffer, context: string): string;
}

/** Returns a sealer that uses AES-256-GCM, with a key derived from the installation's data key. */
export function makeSealer(dataKey: string): Sealer {
  const key = Buffer.from(hkdfSync("sha256", dataKey, "", "leasehold/webhooks", KEY_BYTES));
  return {
    seal: (text, context) => {
      const iv = randomBytes(IV_BYTES);
      const cipher = createCipheriv("aes-256-gcm", key, iv).setAAD(Buffer.from(context));
      const body = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
      return Buffer.concat([Buffer.from([FORMAT]), iv, cipher.getAuthTag(), body]);
    },
    open: (sealed, context) => {
      if (sealed[0] !== FORMAT || sealed.length < 1 + IV_BYTES + TAG_BYTES) throw new UnsealError();
      const iv = sealed.subarray(1, 1 + IV_BYTES);
      const tag = sealed.subarray(1 + IV_BYTES, 1 + IV_BYTES + TAG_BYTES);
      const decipher = createDecipheriv("aes-256-gcm", key, iv).setAAD(Buffer.from(context)).setAuthTag(tag);
      try {
        const body = decipher.update(sealed.subarray(1 + IV_BYTES + TAG_BYTES));
        return Buffer.concat([body, decipher.final()]).toString("utf8");
      } catch {
        throw new UnsealError();
      }
    },
  };
}
