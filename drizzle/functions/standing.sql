-- Returns what a person, and the key with which the person acts if any, may do in the tenant of the transaction at this
-- moment. No row: nothing, because the person left or was disabled, the key was revoked or has expired, or the tenant
-- is suspended. For actions that outlive their request. The web role itself sees neither super admins nor the scopes of
-- a key, so the function runs as the owner, who can read these rows only while a tenant is set (policies
-- owner_checks_standing).
create or replace function app.standing_of(p_user uuid, p_key uuid)
returns table (role text, is_super_admin boolean, key_kind text, key_scopes text[])
language sql stable security definer
set search_path = pg_catalog, app
as $$
  select m.role, u.is_super_admin, k.kind, k.scopes
  from app.users u
  join app.tenants t on t.id = app.current_tenant() and t.status = 'active'
  left join app.memberships m on m.user_id = u.id and m.tenant_id = t.id
  left join app.api_keys k
    on k.id = p_key
    and k.created_by = u.id
    and k.revoked_at is null
    and k.expires_at > app.now()
    and (k.tenant_id is null or k.tenant_id = t.id)
  where u.id = p_user
    and u.disabled_at is null
    and (p_key is null or k.id is not null)
    and (m.role is not null or u.is_super_admin)
$$;
revoke all on function app.standing_of(uuid, uuid) from public;
grant execute on function app.standing_of(uuid, uuid) to leasehold_web;
