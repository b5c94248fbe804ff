import { type Database, statement } from "@/lib/db";

export const actAsOwnerSql = statement("admin_act_as_owner", "set local role leasehold_owner");

const readSql = statement(
  "admin_read_data_key",
  `select data_key_check as stored,
     (select count(*)::int from app.webhook_endpoints where deleted_at is null) as endpoints
   from app.installation for update`,
);

const writeSql = statement("admin_write_data_key", "update app.installation set data_key_check = $1");

interface Options {
  /** Check value of this environment's data key. */
  readonly check: Buffer;
  /** Makes this key the database's key, even if secrets are sealed with another one. */
  readonly replace: boolean;
  readonly log: (line: string) => void;
}

/**
 * Compares this environment's data key with the key that seals the secrets in the database. If they differ and no
 * secret is stored, clears the stored check value, so that the next process stores its own. Otherwise logs what will
 * happen, or replaces the key if `replace` is set.
 * @param admin a login that may act as the owner
 */
export function settleDataKey(admin: Database, { check, replace, log }: Options): Promise<void> {
  return admin.transaction(async (tx) => {
    await tx.run(actAsOwnerSql);
    const [row] = await tx.run<{ stored: Buffer | null; endpoints: number }>(readSql);
    if (!row?.stored || row.stored.equals(check)) return;
    if (!replace && row.endpoints > 0) {
      log(
        `The data key of this environment is not the one that secrets of ${row.endpoints} webhooks are sealed with. Web and workers ` +
          "with this key refuse to start. Set DATA_KEY to the former key; or run db:migrate with --new-data-key, and rotate the secrets.",
      );
      return;
    }
    await tx.run(writeSql, [replace ? check : null]);
    if (replace) log(`The data key was replaced. Rotate the secrets of ${row.endpoints} webhooks.`);
  });
}
