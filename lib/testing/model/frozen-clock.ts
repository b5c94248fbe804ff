import type { TestDatabase } from "../database";

/**
 * Freezes time in a database, for all its users: `app.now()` reads one row, and changes when that row is written.
 * Milliseconds since 1970; set it through a connection of the administrator.
 */
export async function freezeClock({ query }: TestDatabase, atMs: number): Promise<void> {
  await query("create table public.frozen_clock as select to_timestamp($1::float8 / 1000) as at", [atMs]);
  await query("grant select on public.frozen_clock to public");
  await query(`create or replace function app.now() returns timestamptz language sql stable parallel safe
    as $$ select at from public.frozen_clock $$`);
  await query(`create or replace function app.clock() returns timestamptz language sql volatile parallel safe
    as $$ select at from public.frozen_clock $$`);
  // Code that measures the time since its transaction began would use the server's real clock.
  const [claim] = await query<{ text: string }>(
    "select pg_get_functiondef(oid) as text from pg_proc where proname = 'reserve_slots'",
  );
  const text = claim?.text ?? "";
  const frozen = text.replaceAll("app.now() + (clock_timestamp() - now())", "app.now()");
  if (frozen === text) throw new Error("app.reserve_slots reads the clock in another way");
  await query(frozen);
}

export const SET_CLOCK = "update public.frozen_clock set at = to_timestamp($1::float8 / 1000)";
