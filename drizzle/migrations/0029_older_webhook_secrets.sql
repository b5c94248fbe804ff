-- Secrets before the previous one, newest first, whose time is not over: who changes a secret twice in a day cuts nobody off.
alter table app.webhook_endpoints add column older_secrets bytea[] not null default '{}',
  add column older_secrets_until timestamptz[] not null default '{}',
  add constraint webhook_endpoints_older check (cardinality(older_secrets) <= 2 and
    cardinality(older_secrets) = cardinality(older_secrets_until));
grant update (older_secrets, older_secrets_until) on app.webhook_endpoints to leasehold_web;
