import { statement } from "@/lib/db";
import { MAX_ATTEMPTS, TIMEOUT_SECONDS } from "./defaults.sql";

const COLUMNS = `d.id, d.key, d.description, d.executor, d.command_key, q.name as queue, d.queue_id, d.arg_schema,
  coalesce(d.timeout_seconds, q.timeout_seconds, ${TIMEOUT_SECONDS}) as timeout_seconds, d.timeout_seconds as own_timeout_seconds,
  coalesce(d.max_attempts, q.max_attempts, ${MAX_ATTEMPTS}) as max_attempts, d.max_attempts as own_max_attempts, d.lease_seconds, d.kill_grace_seconds, d.retry_strategy, d.retry_delay_seconds,
  d.retry_multiplier, d.retry_max_delay_seconds, d.retry_jitter, d.retry_classes, d.dead_letter, d.is_active, d.version, d.created_at,
  d.updated_at`;
const FROM = "from app.job_definitions d join app.job_queues q on q.id = d.queue_id";

export const listDefinitionsSql = statement("list_definitions", `select ${COLUMNS} ${FROM} order by d.key limit 1000`, {
  repeatable: true,
});
export const definitionByKeySql = statement("definition_by_key", `select ${COLUMNS} ${FROM} where d.key = $1`, {
  repeatable: true,
});
export const lockDefinitionSql = statement(
  "lock_definition",
  `select ${COLUMNS} ${FROM} where d.id = $1 for update of d`,
);
export const queueByNameSql = statement("queue_by_name", "select id, is_active from app.job_queues where name = $1", {
  repeatable: true,
});
export const listQueuesSql = statement(
  "list_queues",
  "select id, name from app.job_queues where is_active order by name",
  {
    repeatable: true,
  },
);

/** The parameters are in the order of `values` in definitions.ts. */
export const insertDefinitionSql = statement(
  "insert_definition",
  `insert into app.job_definitions (key, description, executor, command_key, queue_id, arg_schema, timeout_seconds,
     max_attempts, lease_seconds, kill_grace_seconds, retry_strategy, retry_delay_seconds, retry_multiplier,
     retry_max_delay_seconds, retry_jitter, retry_classes, dead_letter, is_active)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)
   on conflict (key) do nothing returning id`,
);

export const updateDefinitionSql = statement(
  "update_definition",
  `update app.job_definitions set description = $2, executor = $3, command_key = $4, queue_id = $5, arg_schema = $6,
     timeout_seconds = $7, max_attempts = $8, lease_seconds = $9, kill_grace_seconds = $10, retry_strategy = $11,
     retry_delay_seconds = $12, retry_multiplier = $13, retry_max_delay_seconds = $14, retry_jitter = $15,
     retry_classes = $16, dead_letter = $17, is_active = $18, version = version + 1, updated_at = app.now()
   where key = $1 returning id`,
);

/** Stores the current version, for the jobs that are accepted with it. */
export const keepDefinitionVersionSql = statement(
  "keep_definition_version",
  `insert into app.job_definition_versions (definition_id, version, executor, command_key, arg_schema, timeout_seconds,
     max_attempts, lease_seconds, kill_grace_seconds, retry_strategy, retry_delay_seconds, retry_multiplier,
     retry_max_delay_seconds, retry_jitter, retry_classes, dead_letter, created_by)
   select id, version, executor, command_key, arg_schema, timeout_seconds, max_attempts, lease_seconds,
     kill_grace_seconds, retry_strategy, retry_delay_seconds, retry_multiplier, retry_max_delay_seconds, retry_jitter,
     retry_classes, dead_letter, $2 from app.job_definitions where id = $1`,
);

export const definitionVersionSql = statement(
  "definition_version",
  `select d.key, v.executor, v.command_key, v.arg_schema, v.lease_seconds, v.kill_grace_seconds, v.retry_strategy,
     v.retry_delay_seconds, v.retry_multiplier, v.retry_max_delay_seconds, v.retry_jitter, v.retry_classes, v.dead_letter,
     coalesce(v.timeout_seconds, ${TIMEOUT_SECONDS}) as timeout_seconds,
     coalesce(v.max_attempts, ${MAX_ATTEMPTS}) as max_attempts
   from app.job_definition_versions v join app.job_definitions d on d.id = v.definition_id
   where v.definition_id = $1 and v.version = $2`,
  { repeatable: true },
);
