import { statement } from "@/lib/db";
import { MAX_ATTEMPTS, TIMEOUT_SECONDS } from "./defaults.sql";

/** The active definitions, by key. */
export const listServableSql = statement(
  "list_servable",
  `select id, key, executor, command_key, lease_seconds, version from app.job_definitions where is_active
   order by key limit 1000`,
  { repeatable: true },
);

export const definitionByKeySql = statement(
  "definition_by_key",
  `select d.id, d.key, d.executor, q.name as queue, d.queue_id, d.arg_schema,
     d.timeout_seconds, d.is_active, d.version
   from app.job_definitions d join app.job_queues q on q.id = d.queue_id where d.key = $1`,
  { repeatable: true },
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
