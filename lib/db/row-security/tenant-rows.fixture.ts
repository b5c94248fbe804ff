import { randomUUID } from "node:crypto";

type Query = (text: string, values?: unknown[]) => Promise<Record<string, unknown>[]>;

/** A tenant with one row in every tenant table. */
export interface SeededTenant {
  readonly tenantId: string;
  readonly userId: string;
  readonly jobId: string;
  readonly providerId: string;
  readonly listId: string;
}

const SEED = `
  insert into app.tenants (id, slug, name) values ($tenant, $slug, 'canary ' || $slug);
  insert into app.users (id, email) values ($user, $slug || '@example.test');
  insert into app.memberships (tenant_id, user_id, role) values ($tenant, $user, 'admin');
  insert into app.sessions (id_hash, user_id, idle_expires_at, absolute_expires_at)
    values (sha256(convert_to($slug, 'UTF8')), $user, now() + interval '1 day', now() + interval '1 day');
  insert into app.api_keys (key_id, secret_hash, last4, kind, tenant_id, name, created_by, expires_at)
    values (left(md5($slug), 12), sha256('x'), 'abcd', 'tenant', $tenant, 'canary', $user, now() + interval '1 day');
  insert into app.job_definitions (id, key, executor, command_key, queue_id)
    select $definition, 'definition-' || $slug, 'command', 'x', id from app.job_queues where name = 'default';
  insert into app.lanes (tenant_id, queue_id, definition_id, band) select $tenant, queue_id, id, 2 from app.job_definitions where id = $definition;
  insert into app.jobs (id, tenant_id, definition_id, definition_version, lane_no, source, scheduled_for, max_attempts, payload)
    select $job, $tenant, $definition, 1, lane_no, 'manual', now(), 3, '{"canary": true}' from app.lanes where tenant_id = $tenant;
  insert into app.live_jobs (job_id, tenant_id, lane_no, state, ready, sort_key, priority, scheduled_for)
    select $job, $tenant, lane_no, 'queued', true, 1, 100, now() from app.lanes where tenant_id = $tenant;
  insert into app.job_attempts (job_id, attempt_no, tenant_id, run_no, status, outcome)
    values ($job, 1, $tenant, 1, 'canceled', 'canceled');
  insert into app.job_logs (job_id, attempt_no, seq, tenant_id, stream, body) values ($job, 1, 0, $tenant, 'stdout', 'canary');
  insert into app.job_steps (job_id, run_no, name, tenant_id, attempt_no, result) values ($job, 1, 'canary', $tenant, 1, '{}');
  insert into app.artifacts (id, tenant_id, job_id, run_no, attempt_no, name, content_type, size, chunks, sha256, completed_at)
    values ($artifact, $tenant, $job, 1, 1, 'canary', 'text/plain', 6, 1, sha256('canary'), now());
  insert into app.artifact_chunks (tenant_id, artifact_id, no, bytes) values ($tenant, $artifact, 0, 'canary');
  insert into app.artifact_usage (tenant_id, bytes) values ($tenant, 6);
  insert into app.dedupe_keys (tenant_id, key, job_id) values ($tenant, 'same-key', $job);
  insert into app.job_dependencies (child_id, edge_no, tenant_id, parent_id, type, on_failure)
    values ($job, 1, $tenant, app.new_id(), 'success', 'cancel');
  insert into app.release_backlog (tenant_id, parent_id, from_child, to_child) values ($tenant, $job, $job, $job);
  insert into app.job_stat_deltas (tenant_id, definition_id, kind, n) values ($tenant, $definition, 'queued', 1);
  insert into app.job_stats (tenant_id, bucket, definition_id, kind, n, wait_ms, run_ms)
    values ($tenant, '2026-01-01', $definition, 'queued', 1, 0, 0);
  insert into app.live_totals (tenant_id, definition_id, n) values ($tenant, $definition, 1);
  insert into app.providers (id, tenant_id, name, path) values ($provider, $tenant, 'canary', '/canary');
  insert into app.provider_watches (tenant_id, provider_id, folders, fingerprint)
    values ($tenant, $provider, '', sha256('canary'));
  insert into app.assets (tenant_id, provider_id, path, path_hash, size, sha256, media_type, modified_at, seen_in)
    values ($tenant, $provider, 'canary', sha256('canary'), 1, repeat('0', 64), 'text/plain', now(), $job);
  insert into app.lists (id, tenant_id, name) values ($list, $tenant, 'canary');
  insert into app.list_rows (tenant_id, list_id, line_no, data) values ($tenant, $list, 1, '{"canary": true}');
  insert into app.list_imports (tenant_id, list_id, generation, job_id) values ($tenant, $list, 1, $job);
  insert into app.security_audit (tenant_id, actor_kind, action, success) values ($tenant, 'system', 'canary', true);
  insert into app.job_audit (tenant_id, job_id, actor_kind, action) values ($tenant, $job, 'system', 'canary');
  insert into app.concurrency_limits (scope, queue_id, tenant_id, max_running)
    select 'tenant_queue', id, $tenant, 100 from app.job_queues where name = 'default';
  insert into app.tenant_usage (tenant_id, queue_id, cost, updated_at)
    select $tenant, id, 1, now() from app.job_queues where name = 'default';
  insert into app.rate_buckets (limit_id, tenant_id, tokens, refilled_at) values (0, $tenant, 1, now());
  insert into app.pauses (scope, tenant_id, reason, paused_until) values ('tenant', $tenant, 'canary', now());
  insert into app.bulk_actions (id, tenant_id, action, target, next_before, total, total_is_exact, actor_kind)
    values ($action, $tenant, 'cancel', '{"canary": true}', $job, 1, true, 'system');
  insert into app.bulk_action_chunks (tenant_id, action_id, chunk_no, job_ids, results)
    values ($tenant, $action, 1, array[$job::uuid], array['done']);
  insert into app.job_triggers (id, tenant_id, label, trigger_type, definition_id, event_name, overlap_policy)
    values ($trigger, $tenant, 'canary', 'event', $definition, 'canary', 'allow');
  insert into app.trigger_firings (tenant_id, trigger_id, kind, fire_at, outcome, job_id)
    values ($tenant, $trigger, 'schedule', '2026-01-01T00:00:00Z', 'enqueued', $job);
  insert into app.events (tenant_id, name, producer_id, data, source, status)
    values ($tenant, 'canary', 'same-id', '{"canary": true}', 'api', 'done');
  insert into app.job_listeners (tenant_id, event_names) values ($tenant, '{job.succeeded}');
  insert into app.webhook_endpoints (id, tenant_id, url, secret) values ($endpoint, $tenant, 'https://canary', 'canary');
  insert into app.webhook_deliveries (tenant_id, endpoint_id, job_id, attempt_no, message_id, type, url, request,
    duration_ms, started_at) values ($tenant, $endpoint, $job, 1, 'canary', 'canary', 'https://canary', 'canary', 1, now());
  insert into app.dead_letters (tenant_id, job_id, run_no, status, note) values ($tenant, $job, 1, 'pending', 'canary');
  insert into app.idempotency_keys (tenant_id, route, key, request_hash, response_status, response_body, expires_at)
    values ($tenant, 'POST /jobs', 'same-key', sha256('x'), 201, 'canary', now() + interval '1 day')`;

/** Gives a new tenant one row in every tenant table. Two tenants get equal names and keys wherever that is allowed. */
export async function seedTenant(query: Query, slug: string): Promise<SeededTenant> {
  const [made] = await query("select app.new_id()::text as job");
  const ids = {
    tenant: randomUUID(),
    user: randomUUID(),
    definition: randomUUID(),
    provider: randomUUID(),
    list: randomUUID(),
    artifact: randomUUID(),
    action: randomUUID(),
    trigger: randomUUID(),
    endpoint: randomUUID(),
  };
  const values: Record<string, string> = { ...ids, job: String(made?.job), slug };
  await query(SEED.replace(/\$([a-z]+)/g, (_all, name: string) => `'${values[name]}'`));
  return {
    tenantId: ids.tenant,
    userId: ids.user,
    jobId: String(made?.job),
    providerId: ids.provider,
    listId: ids.list,
  };
}

/** Returns every tenant table with its columns. */
export async function tenantTables(query: Query): Promise<{ table: string; columns: string[] }[]> {
  const rows = await query(`
    select c.relname as "table", array_agg(a.attname::text order by a.attnum) as columns
    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    where c.relnamespace = 'app'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
    group by c.relname having bool_or(a.attname = 'tenant_id') order by 1`);
  return rows as { table: string; columns: string[] }[];
}
