-- The schema, its clock and its ids. Roles exist before this file runs (lib/db/migrate/roles.ts).
create schema app;
grant usage on schema app to leasehold_web, leasehold_worker, leasehold_scheduler, leasehold_platform, leasehold_auth;

-- The one clock of every decision (due, lease, window, limit). Test databases replace this function by one
-- with an offset, so that a test moves time for every process at once.
create function app.now() returns timestamptz
  language sql stable parallel safe
  as $$ select now() $$;

-- UUIDv7 (RFC 9562 §5.7): 48 bits of milliseconds, 12 bits of sub-millisecond fraction, 62 random bits.
-- From clock_timestamp(), never from app.now(): an id must fall into today's partition whatever a test does with time.
-- One expression without FROM, so that the planner puts it in place of the call: a batch of 500 calls it 500 times. The
-- clock is read once, as 1/4096 ms, and the version's 7 is put between milliseconds and fraction.
create function app.new_id() returns uuid
  language sql volatile parallel safe
  as $$
    select (overlay(lpad(to_hex(floor(date_part('epoch', clock_timestamp()) * 4096000)::bigint), 15, '0') placing '7' from 13 for 0)
      || '-' || right(gen_random_uuid()::text, 17))::uuid
  $$;

-- The smallest UUIDv7 of an instant: bounds of partitions, and the start of an id range for created_after filters.
create function app.id_floor(at timestamptz) returns uuid
  language sql immutable parallel safe
  as $$
    select (lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') || '70008000000000000000')::uuid
  $$;

-- The tenant of the running transaction. After COMMIT the setting is '' and not NULL, hence nullif.
create function app.current_tenant() returns uuid
  language sql stable parallel safe
  as $$ select nullif(current_setting('app.current_tenant_id', true), '')::uuid $$;
