import { storable } from "@/lib/execution/output/clean-text";

/** Returns the beginning of a text in storable form, of at most `bytes` UTF-8 bytes, cut between characters. */
export function cutBytes(text: string, bytes: number): string {
  const clean = storable(text);
  if (Buffer.byteLength(clean) <= bytes) return clean;
  const cut = Buffer.from(clean).subarray(0, bytes - Buffer.byteLength("…"));
  return `${cut.toString("utf8").replace(/\ufffd{1,3}$/, "")}…`;
}
