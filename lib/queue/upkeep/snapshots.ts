import type { Runner } from "@/lib/db";
import { seesAllSessionsSql, snapshotHoldersSql } from "./snapshots.sql";

/** A session, prepared transaction or replication slot that keeps vacuum from removing dead rows of this database. */
export interface SnapshotHolder {
  readonly kind: "session" | "prepared transaction" | "replication slot";
  /** The session's pid, the transaction's gid or the slot's name. */
  readonly id: string;
  /** A session's application_name. */
  readonly name: string;
  readonly role: string | null;
  readonly state: string | null;
  /** Seconds since its transaction began; null for a slot, whose age is unknown. */
  readonly seconds: number | null;
  /** Age of its xmin in transactions. */
  readonly xminAge: number;
  /** The oldest transaction whose rows it keeps. */
  readonly horizon: string;
}

type Row = Omit<SnapshotHolder, "xminAge"> & { xmin_age: number };

/** Lists up to 20 holders whose transaction is at least this old, and slots of any age, oldest horizon first. */
export async function listSnapshotHolders(db: Runner, minSeconds: number): Promise<SnapshotHolder[]> {
  const rows = await db.run<Row>(snapshotHoldersSql, [minSeconds]);
  return rows.map(({ kind, id, name, role, state, seconds, xmin_age: xminAge, horizon }) => {
    return { kind, id, name, role, state, seconds, xminAge, horizon };
  });
}

/**
 * Returns false if sessions of other roles are hidden, because the schema's owner is not a member of pg_read_all_stats.
 */
export const seesAllSessions = async (db: Runner): Promise<boolean> =>
  (await db.run<{ sees_all: boolean }>(seesAllSessionsSql))[0]?.sees_all ?? false;
