-- An Idempotency-Key belongs to the principal that sent it, so that its stored answer is sent to no one else.
-- Rows from before have no principal and match no request; they expire within a day.
alter table app.idempotency_keys
  add column principal text not null default '',
  drop constraint idempotency_keys_tenant_id_route_key_key,
  add constraint idempotency_keys_request unique nulls not distinct (tenant_id, principal, route, key);
