import { statement, tenantIs } from "@/lib/db";

/** `$1` job, `$2` lease, `$3` name, `$4` content type, `$5` maximum number of artifacts of other names. */
export const beginArtifactSql = statement(
  "begin_artifact",
  "select status, artifact from app.begin_artifact($1, $2, $3, $4, $5)",
);

/** `$4` is the number of the chunk, `$6` and `$7` are the quotas of the job and of the tenant in bytes. */
export const appendArtifactSql = statement(
  "append_artifact",
  "select app.append_artifact($1, $2, $3, $4, $5, $6, $7) as status",
);

export const finishArtifactSql = statement(
  "finish_artifact",
  "select app.finish_artifact($1, $2, $3, $4, $5) as status",
);

/** Deletes the unfinished artifacts of an attempt; only those with the ids `$3`, unless it is null. */
export const discardArtifactsSql = statement(
  "discard_artifacts",
  `delete from app.artifacts
   where job_id = $1 and attempt_no = $2 and completed_at is null and ($3::uuid[] is null or id = any ($3))`,
);

/** Deletes unfinished artifacts of attempts that no longer hold a lease, `$1` at most. */
export const deleteUnfinishedArtifactsSql = statement(
  "delete_unfinished_artifacts",
  `delete from app.artifacts where ctid = any (array(
     select a.ctid from app.artifacts a
     where a.completed_at is null and not exists (
       select 1 from app.live_jobs l where l.job_id = a.job_id and l.lease_no = a.attempt_no and l.state = 'running')
     limit $1 for update of a skip locked)) returning 1`,
);

/**
 * Deletes artifacts of deleted jobs, among the `$1` oldest rows and those of their jobs. These are enough, because days
 * of jobs are dropped from the oldest on.
 */
export const deleteArtifactsWithoutJobSql = statement(
  "delete_artifacts_without_job",
  `delete from app.artifacts where ctid = any (array(
     select a.ctid from app.artifacts a
     where a.job_id in (select job_id from app.artifacts order by job_id limit $1)
       and not exists (select 1 from app.jobs j where j.id = a.job_id)
     for update of a skip locked)) returning 1`,
);

const WRITTEN = "id, job_id, run_no, attempt_no, name, content_type, size, encode(sha256, 'hex') as sha256";
/** The columns of a complete artifact. */
const SHOWN = `${WRITTEN}, coalesce(completed_at, created_at) as created_at`;

export const listArtifactsSql = statement(
  "list_artifacts",
  `select ${SHOWN} from app.artifacts
   where ${tenantIs("tenant_id")} and job_id = $2 and completed_at is not null order by name limit 1000`,
  { repeatable: true, answers: true },
);

export const getArtifactSql = statement(
  "get_artifact",
  `select ${SHOWN}, chunks from app.artifacts
   where ${tenantIs("tenant_id")} and job_id = $2 and id = $3 and completed_at is not null`,
  { repeatable: true, answers: true },
);

export const deleteArtifactSql = statement(
  "delete_artifact",
  `delete from app.artifacts
   where ${tenantIs("tenant_id")} and job_id = $2 and id = $3 and completed_at is not null returning ${SHOWN}`,
  { answers: true },
);

export const artifactUsageSql = statement(
  "artifact_usage",
  `select bytes from app.artifact_usage where ${tenantIs("tenant_id")}`,
  { repeatable: true },
);

export const readArtifactChunkSql = statement(
  "read_artifact_chunk",
  `select bytes from app.artifact_chunks where ${tenantIs("tenant_id")} and artifact_id = $2 and no = $3`,
  { repeatable: true },
);

/** Reads the artifact `$3` of an attempt: the one being written, otherwise the complete one. */
export const attemptArtifactSql = statement(
  "attempt_artifact",
  `select ${WRITTEN}, completed_at as created_at, chunks from app.artifacts where job_id = $1 and attempt_no = $2 and name = $3
   order by completed_at nulls first limit 1`,
  { repeatable: true, answers: true },
);

/** Reads chunk `$4` of the artifact `$3` that an attempt wrote. */
export const ownChunkSql = statement(
  "own_artifact_chunk",
  `select c.bytes from app.artifacts a join app.artifact_chunks c on c.tenant_id = a.tenant_id and c.artifact_id = a.id
   where a.job_id = $1 and a.attempt_no = $2 and a.id = $3 and c.no = $4`,
  { repeatable: true },
);

/** Counts the complete artifacts of each of the jobs `$2`. */
export const countArtifactsSql = statement(
  "count_artifacts",
  `select job_id, count(*)::int as n from app.artifacts
   where ${tenantIs("tenant_id")} and job_id = any ($2::uuid[]) and completed_at is not null group by job_id`,
  { repeatable: true },
);
