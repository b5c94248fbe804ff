import { hkdfSync } from "node:crypto";
import { type Runner, statement } from "@/lib/db";

const CHECK_BYTES = 32;

const readCheckSql = statement("read_data_key_check", "select data_key_check as stored from app.installation");

/** Changes no row if another process was faster. */
const storeCheckSql = statement(
  "store_data_key_check",
  "update app.installation set data_key_check = $1 where data_key_check is null",
);

/** Returns a value that shows whether two processes have the same data key. The key cannot be computed from it. */
export function dataKeyCheck(dataKey: string): Buffer {
  return Buffer.from(hkdfSync("sha256", dataKey, "", "leasehold/data-key-check", CHECK_BYTES));
}

/**
 * Returns true if the secrets in the database are sealed with the data key of this check value. The first process that
 * asks stores its own value; `npm run db:migrate -- --new-data-key` replaces it.
 * @param worker a pool of the worker role, which may store the value
 */
export async function dataKeyFits(worker: Runner, own: Buffer): Promise<boolean> {
  let stored = await readCheck(worker);
  if (!stored) {
    await worker.run(storeCheckSql, [own]);
    stored = await readCheck(worker);
  }
  return stored?.equals(own) ?? false;
}

async function readCheck(worker: Runner): Promise<Buffer | null> {
  const [row] = await worker.run<{ stored: Buffer | null }>(readCheckSql);
  return row?.stored ?? null;
}
