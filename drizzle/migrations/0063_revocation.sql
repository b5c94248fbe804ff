-- Whoever takes a right away, by whatever statement, wakes all web processes, which end what that right keeps open. A hint:
-- the processes poll as well. These tables change rarely, so a NOTIFY in the transaction costs nobody else anything.
create function app.notify_access() returns trigger language plpgsql set search_path = pg_catalog, app
  as $$ begin
    perform pg_notify('leasehold_access', coalesce(to_jsonb(old) ->> tg_argv[0], '*'));
    return null;
  end $$;
revoke all on function app.notify_access() from public;

create trigger ends_access after update on app.sessions for each row
  when (old.revoked_at is null and new.revoked_at is not null) execute function app.notify_access('user_id');
create trigger ends_access_deleted after delete on app.sessions for each row
  when (old.revoked_at is null and old.absolute_expires_at > app.now()) execute function app.notify_access('user_id');
create trigger ends_access after update on app.users for each row
  when (old.disabled_at is distinct from new.disabled_at or old.is_super_admin is distinct from new.is_super_admin
    or old.must_change_password is distinct from new.must_change_password) execute function app.notify_access('id');
create trigger ends_access_deleted after delete on app.users for each row execute function app.notify_access('id');
create trigger ends_access after update on app.memberships for each row
  when (old.role is distinct from new.role) execute function app.notify_access('user_id');
create trigger ends_access_deleted after delete on app.memberships for each row execute function app.notify_access('user_id');
create trigger ends_access after update on app.api_keys for each row
  when (old.revoked_at is distinct from new.revoked_at or old.expires_at is distinct from new.expires_at
    or old.scopes is distinct from new.scopes) execute function app.notify_access('created_by');
create trigger ends_access_deleted after delete on app.api_keys for each row execute function app.notify_access('created_by');
create trigger ends_access after update on app.tenants for each row
  when (old.status is distinct from new.status) execute function app.notify_access();

-- For the deletion of buckets that are full again.
create index request_buckets_by_time on app.request_buckets (refilled_at);
