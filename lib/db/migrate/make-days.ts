import type pg from "pg";

/**
 * Creates the partitions of the coming days, which a database without a scheduler for a week lacks. A failure is only
 * logged, because the leading scheduler retries, and rows without a partition go to the DEFAULT partition.
 */
export async function makeDaysOnce(client: pg.Client, log: (line: string) => void): Promise<void> {
  await client.query("begin");
  try {
    await client.query("set local role leasehold_owner");
    const { rows: known } = await client.query<{ is: boolean }>(
      "select to_regprocedure('app.make_days(integer)') is not null as is",
    );
    if (known[0]?.is) {
      const { rows } = await client.query<{ failed: string[] }>("select failed from app.make_days()");
      for (const failed of rows[0]?.failed ?? []) log(`a partition could not be made: ${failed}`);
    }
    await client.query("commit");
  } catch (error) {
    await client.query("rollback").catch(() => {});
    log(`partitions could not be made, the scheduler tries again: ${(error as Error).message}`);
  }
}
