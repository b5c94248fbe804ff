-- What may run. Queues and definitions are global and belong to the super admin; every process that enqueues or runs jobs
-- reads them.

-- Queues, with defaults for jobs that come into them: a job's own value comes first, then its definition's, then the queue's.
-- NULL: the queue says nothing. version rises with every change, so that workers notice.
create table app.job_queues (
  id integer generated always as identity primary key,
  name text not null unique check (name ~ '^[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?$'),
  description text not null default '',
  is_active boolean not null default true,
  created_at timestamptz not null default app.now(),
  updated_at timestamptz not null default app.now(),
  default_priority integer not null default 100 check (default_priority between 1 and 1000),
  timeout_seconds integer check (timeout_seconds between 1 and 604800),
  max_attempts integer check (max_attempts between 1 and 100),
  retry_delay_seconds double precision check (retry_delay_seconds between 0 and 86400),
  retry_multiplier double precision check (retry_multiplier between 1 and 10),
  weight double precision not null default 1 check (weight between 0.01 and 1000),
  version integer not null default 1 check (version >= 1)
);
grant select on app.job_queues to leasehold_web, leasehold_worker, leasehold_scheduler, leasehold_platform;
grant insert on app.job_queues to leasehold_platform;
grant update (description, is_active, default_priority, timeout_seconds, max_attempts, retry_delay_seconds, retry_multiplier,
  weight, version, updated_at) on app.job_queues to leasehold_platform;
insert into app.job_queues (name, description) values ('default', 'Everything that names no other queue');
insert into app.job_queues (name, description, timeout_seconds, max_attempts, retry_multiplier) values
  ('email-sending', 'Delivery of email campaigns', 3600, 3, 2),
  ('analytics-processing', 'Aggregation of analytics', 3600, 3, 2),
  ('content-archival', 'Clean-up of old content', 3600, 3, 2),
  ('infrastructure-monitoring', 'Health checks of systems', 3600, 3, 2),
  ('billing-sync', 'Synchronization with the payment provider', 3600, 3, 2),
  ('notification-delivery', 'Delivery of notifications to people', 3600, 3, 2);

-- The kinds of jobs: what runs, and under which rules.
create table app.job_definitions (
  id uuid primary key default app.new_id(),
  key text not null unique check (key ~ '^[a-z0-9](?:[a-z0-9._-]{0,126}[a-z0-9])?$'),
  description text not null default '' check (char_length(description) <= 2000),
  executor text not null default 'command' check (executor in ('command', 'handler', 'remote', 'webhook')),
  command_key text,
  queue_id integer not null references app.job_queues (id),
  arg_schema jsonb not null default '{}'::jsonb check (jsonb_typeof(arg_schema) = 'object'),
  -- NULL: the queue decides, then the installation (an hour, three attempts).
  timeout_seconds integer check (timeout_seconds between 1 and 604800),
  max_attempts integer check (max_attempts between 1 and 100),
  lease_seconds integer not null default 30 check (lease_seconds between 5 and 3600),
  kill_grace_seconds integer not null default 5 check (kill_grace_seconds between 0 and 300),
  -- NULL: the queue, the class of the error or the installation decides.
  retry_strategy text check (retry_strategy in ('exponential', 'linear', 'fixed', 'random', 'none')),
  retry_delay_seconds double precision check (retry_delay_seconds between 0 and 86400),
  retry_multiplier double precision check (retry_multiplier between 1 and 10),
  retry_max_delay_seconds double precision check (retry_max_delay_seconds between 0 and 604800),
  retry_jitter double precision check (retry_jitter between 0 and 1),
  dead_letter boolean not null default true,
  is_active boolean not null default true,
  version integer not null default 1 check (version >= 1),
  created_at timestamptz not null default app.now(),
  updated_at timestamptz not null default app.now(),
  -- Retry policies by class of error.
  retry_classes jsonb not null default '{}'::jsonb check (jsonb_typeof(retry_classes) = 'object'),
  constraint job_definitions_command_key check ((executor = 'command') = (command_key is not null))
);
grant select on app.job_definitions to leasehold_web, leasehold_worker, leasehold_scheduler, leasehold_platform;
grant insert on app.job_definitions to leasehold_platform;
grant update (description, executor, command_key, queue_id, arg_schema, timeout_seconds, max_attempts, lease_seconds,
  kill_grace_seconds, retry_strategy, retry_delay_seconds, retry_multiplier, retry_max_delay_seconds, retry_jitter,
  retry_classes, dead_letter, is_active, version, updated_at) on app.job_definitions to leasehold_platform;

-- Every version that was ever current: a job runs and is retried under the version it was accepted with.
create table app.job_definition_versions (
  definition_id uuid not null references app.job_definitions (id),
  version integer not null,
  executor text not null,
  command_key text,
  arg_schema jsonb not null,
  timeout_seconds integer,
  max_attempts integer,
  lease_seconds integer not null,
  kill_grace_seconds integer not null,
  retry_strategy text,
  retry_delay_seconds double precision,
  retry_multiplier double precision,
  retry_max_delay_seconds double precision,
  retry_jitter double precision,
  dead_letter boolean not null,
  created_at timestamptz not null default app.now(),
  created_by uuid references app.users (id) on delete set null,
  retry_classes jsonb not null default '{}'::jsonb check (jsonb_typeof(retry_classes) = 'object'),
  primary key (definition_id, version)
);
grant select on app.job_definition_versions to leasehold_web, leasehold_worker, leasehold_scheduler, leasehold_platform;
grant insert on app.job_definition_versions to leasehold_platform;
