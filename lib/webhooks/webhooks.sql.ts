import { statement } from "@/lib/db";
import { tenantIs } from "@/lib/db/tenant-filter";

/**
 * Sets the secret $3. The previous secret ($4) stays valid for a day, and earlier ones until their own end. Returns no
 * row if three earlier secrets are still valid.
 */
export const rotateSecretSql = statement(
  "rotate_webhook_secret",
  `with older as (
     select u.secret, u.until from app.webhook_endpoints e
     cross join lateral unnest(array_prepend(e.previous_secret, e.older_secrets),
       array_prepend(e.previous_secret_until, e.older_secrets_until)) u (secret, until)
     where ${tenantIs("e.tenant_id")} and e.id = $2 and u.until > app.now()
   )
   update app.webhook_endpoints set previous_secret = $4, previous_secret_until = app.now() + interval '24 hours',
     older_secrets = array(select secret from older order by until desc),
     older_secrets_until = array(select until from older order by until desc),
     secret = $3, version = version + 1, updated_at = app.now()
   where ${tenantIs("tenant_id")} and id = $2 and deleted_at is null and (select count(*) from older) <= 2
   returning id`,
);

/**
 * Reads the job and the endpoint of a delivery (endpoint columns are null when there is none), and if the endpoint was
 * sent the message $4 with the type $5.
 */
export const findDeliverySql = statement(
  "find_webhook_delivery",
  `select j.queued_at, case when j.source = 'schedule' then j.source_ref end as fired_by, j.metadata ->> 'instant' as fired_at,
     e.id as endpoint_id, e.url, e.event_types, e.is_enabled, e.secret, e.headers,
     array(select u.secret from unnest(array_prepend(e.previous_secret, e.older_secrets),
       array_prepend(e.previous_secret_until, e.older_secrets_until)) u (secret, until)
       where u.until > app.now() order by u.until desc) as earlier_secrets,
     exists (select 1 from app.webhook_deliveries d where ${tenantIs("d.tenant_id")} and d.endpoint_id = $3
       and d.message_id = $4::text and d.type = $5) as was_sent
   from app.jobs j left join app.webhook_endpoints e
     on ${tenantIs("e.tenant_id")} and e.id = $3 and e.deleted_at is null
   where ${tenantIs("j.tenant_id")} and j.id = $2`,
);

export const sealedSecretSql = statement(
  "webhook_sealed_secret",
  `select secret from app.webhook_endpoints where ${tenantIs("tenant_id")} and id = $2 and deleted_at is null for update`,
);

/** An attempt that is recorded twice, because the first answer was lost, keeps its first row. */
export const insertDeliverySql = statement(
  "insert_webhook_delivery",
  `insert into app.webhook_deliveries (tenant_id, endpoint_id, job_id, attempt_no, message_id, type, url, status_code,
     error_code, error_text, request, response, duration_ms, started_at)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13::int,
     clock_timestamp() - make_interval(secs => $13::int / 1000.0))
   on conflict (tenant_id, job_id, attempt_no) do nothing`,
);

export const noteSuccessSql = statement(
  "note_webhook_success",
  `update app.webhook_endpoints set failing_since = null
   where ${tenantIs("tenant_id")} and id = $2 and failing_since is not null`,
);

/**
 * Records when deliveries began to fail, once, and disables the endpoint if it is gone ($3) or has failed for five
 * days. A row with a reason means that the endpoint was disabled by this statement.
 */
export const noteFailureSql = statement(
  "note_webhook_failure",
  `update app.webhook_endpoints e set failing_since = coalesce(failing_since, app.now()), is_enabled = off.reason is null,
     disabled_reason = off.reason,
     version = version + case when off.reason is null then 0 else 1 end,
     updated_at = case when off.reason is null then updated_at else app.now() end
   from (select case when $3 then 'gone' when failing_since < app.now() - interval '5 days' then 'failing' end as reason
         from app.webhook_endpoints where ${tenantIs("tenant_id")} and id = $2) off
   where ${tenantIs("e.tenant_id")} and e.id = $2 and e.is_enabled and (e.failing_since is null or off.reason is not null)
   returning e.disabled_reason as reason`,
);

export const auditDisabledSql = statement(
  "audit_webhook_disabled",
  `insert into app.security_audit (tenant_id, actor_kind, action, severity, object_kind, object_id, success, reason)
   values ($1, 'system', 'webhook.disabled', 'high', 'webhook_endpoint', $2, true, $3)`,
);

/** A delivery with its job's payload; the payload is null when the job has been deleted. */
export const deliveryWithPayloadSql = statement(
  "webhook_delivery_payload",
  `select d.message_id, d.type, j.payload, j.queued_at, f.key as definition_key from app.webhook_deliveries d
   left join app.jobs j on ${tenantIs("j.tenant_id")} and j.id = d.job_id
   left join app.job_definitions f on f.id = j.definition_id
   where ${tenantIs("d.tenant_id")} and d.endpoint_id = $2 and d.id = $3`,
);
