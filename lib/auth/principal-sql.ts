import { statement } from "@/lib/db";

const MEMBERSHIPS = `coalesce((
    select jsonb_agg(jsonb_build_object('id', t.id, 'slug', t.slug, 'name', t.name, 'status', t.status, 'role', m.role)
      order by t.name, t.id)
    from app.memberships m join app.tenants t on t.id = m.tenant_id where m.user_id = u.id), '[]'::jsonb)`;

/**
 * Reads a session, its user and all memberships in one statement, so every right is current. If the request counts as
 * use ($3), the statement also keeps the session from going idle, at most once a minute and never beyond its absolute
 * end.
 */
export const findSession = statement(
  "auth_find_session",
  `with live as (
     select s.id_hash, s.last_seen_at, s.absolute_expires_at, u.id, u.email, u.display_name, u.is_super_admin,
       u.must_change_password
     from app.sessions s join app.users u on u.id = s.user_id
     where s.id_hash = $1 and s.revoked_at is null and s.idle_expires_at > app.now()
       and s.absolute_expires_at > app.now() and u.disabled_at is null
   ), seen as (
     update app.sessions s set last_seen_at = app.now(),
       idle_expires_at = least(s.absolute_expires_at, app.now() + make_interval(secs => $2))
     from live where $3::boolean and s.id_hash = live.id_hash and live.last_seen_at < app.now() - interval '1 minute'
   )
   select u.id as user_id, u.email, u.display_name, u.is_super_admin, u.must_change_password,
     ${MEMBERSHIPS} as memberships from live u`,
);

/**
 * Reads an API key with its creator's current rights. A key whose creator is disabled is not found. The caller compares
 * the stored hash in constant time.
 */
export const findApiKey = statement(
  "auth_find_api_key",
  `select u.id as user_id, u.email, u.display_name, u.is_super_admin, u.must_change_password,
     ${MEMBERSHIPS} as memberships, k.id as key_uuid, k.secret_hash, k.name, k.kind, k.scopes, k.tenant_id,
     k.worker_definitions, k.worker_queues,
     case when t.id is null then null
       else jsonb_build_object('id', t.id, 'slug', t.slug, 'name', t.name, 'status', t.status) end as key_tenant,
     coalesce(k.last_used_at < app.now() - interval '1 minute', true) as use_is_old
   from app.api_keys k join app.users u on u.id = k.created_by left join app.tenants t on t.id = k.tenant_id
   where k.key_id = $1 and k.revoked_at is null and k.expires_at > app.now() and u.disabled_at is null`,
);

/** Written at most once a minute, and never in a request's own transaction. */
export const markKeyUsed = statement(
  "auth_mark_key_used",
  `update app.api_keys set last_used_at = app.now(), last_used_ip = $2
   where id = $1 and coalesce(last_used_at < app.now() - interval '1 minute', true)`,
);
