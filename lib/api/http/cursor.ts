import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import { canonicalJson } from "@/lib/queue";
import { HttpProblem } from "./problem";

const MAC_BYTES = 16;
const ID_BYTES = 16;

/** The scope of a cursor: a cursor is refused for another tenant, list or filter. */
export interface CursorScope {
  readonly secret: string;
  readonly list: string;
  readonly tenantId: string;
  readonly filter: unknown;
}

/** Returns an opaque position after the row with this id. */
export function encodeCursor(scope: CursorScope, id: string): string {
  const bytes = Buffer.from(id.replaceAll("-", ""), "hex");
  return Buffer.concat([bytes, mac(scope, bytes)]).toString("base64url");
}

/** Returns the id in a cursor. @throws HttpProblem 400 invalid-cursor when it was not made for this list and filter */
export function decodeCursor(scope: CursorScope, cursor: string): string {
  const bytes = Buffer.from(cursor, "base64url");
  const id = bytes.subarray(0, ID_BYTES);
  const isOurs =
    bytes.length === ID_BYTES + MAC_BYTES &&
    bytes.toString("base64url") === cursor &&
    timingSafeEqual(bytes.subarray(ID_BYTES), mac(scope, id));
  if (!isOurs) throw new HttpProblem("invalid-cursor");
  return id.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

/** The same for a list whose rows have numbers instead of ids. */
export const encodeNumber = (scope: CursorScope, n: number): string =>
  encodeCursor(scope, n.toString(16).padStart(2 * ID_BYTES, "0"));

/** Returns the number in such a cursor. @throws HttpProblem 400 invalid-cursor, as `decodeCursor` */
export const decodeNumber = (scope: CursorScope, cursor: string): number =>
  Number.parseInt(decodeCursor(scope, cursor).replaceAll("-", ""), 16);

function mac(scope: CursorScope, id: Buffer): Buffer {
  const filter = createHash("sha256").update(canonicalJson(scope.filter)).digest("hex");
  const text = `cursor.v1|${scope.list}|${scope.tenantId}|${filter}|${id.toString("hex")}`;
  return createHmac("sha256", scope.secret).update(text).digest().subarray(0, MAC_BYTES);
}
