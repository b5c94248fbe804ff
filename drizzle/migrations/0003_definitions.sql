-- What may run. Queues and definitions are global and belong to the super admin.
create table app.job_queues (
  id integer generated always as identity primary key,
  name text not null unique check (name ~ '^[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?$'),
  description text not null default '',
  is_active boolean not null default true,
  created_at timestamptz not null default app.now(),
  updated_at timestamptz not null default app.now()
);
insert into app.job_queues (name, description) values ('default', 'Everything that names no other queue');

create table app.job_definitions (
  id uuid primary key default app.new_id(),
  key text not null unique check (key ~ '^[a-z0-9](?:[a-z0-9._-]{0,126}[a-z0-9])?$'),
  description text not null default '' check (char_length(description) <= 2000),
  executor text not null default 'command' check (executor in ('command', 'handler', 'remote')),
  command_key text,
  queue_id integer not null references app.job_queues (id),
  arg_schema jsonb not null default '{}'::jsonb check (jsonb_typeof(arg_schema) = 'object'),
  -- NULL = not said here: its queue says it, then the installation (an hour, three attempts).
  timeout_seconds integer check (timeout_seconds between 1 and 604800),
  max_attempts integer check (max_attempts between 1 and 100),
  lease_seconds integer not null default 30 check (lease_seconds between 5 and 3600),
  kill_grace_seconds integer not null default 5 check (kill_grace_seconds between 0 and 300),
  retry_strategy text not null default 'exponential'
    check (retry_strategy in ('exponential', 'linear', 'fixed', 'random', 'none')),
  retry_delay_seconds double precision not null default 10 check (retry_delay_seconds between 0 and 86400),
  retry_multiplier double precision not null default 2 check (retry_multiplier between 1 and 10),
  retry_max_delay_seconds double precision not null default 3600 check (retry_max_delay_seconds between 0 and 604800),
  retry_jitter double precision not null default 0.2 check (retry_jitter between 0 and 1),
  dead_letter boolean not null default true,
  is_active boolean not null default true,
  version integer not null default 1 check (version >= 1),
  created_at timestamptz not null default app.now(),
  updated_at timestamptz not null default app.now(),
  constraint job_definitions_command_key check ((executor = 'command') = (command_key is not null))
);

-- Every version that was ever current: a job runs and is retried under the one it was accepted with.
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
  retry_strategy text not null,
  retry_delay_seconds double precision not null,
  retry_multiplier double precision not null,
  retry_max_delay_seconds double precision not null,
  retry_jitter double precision not null,
  dead_letter boolean not null,
  created_at timestamptz not null default app.now(),
  created_by uuid references app.users (id) on delete set null,
  primary key (definition_id, version)
);
