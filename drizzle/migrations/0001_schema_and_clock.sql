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
create function app.new_id() returns uuid
  language sql volatile parallel safe
  as $$
    select encode(
      overlay(uuid_send(gen_random_uuid()) placing
        int8send(((t.us / 1000) << 16) | 28672 | ((t.us % 1000) * 4096 / 1000)) from 1 for 8),
      'hex')::uuid
    from (select (extract(epoch from clock_timestamp()) * 1000000)::bigint as us) t
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
