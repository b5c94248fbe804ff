-- Stored JSON has the names of the API: the retry policies of error classes, and the targets of bulk actions. A name is
-- a text before a colon; a text inside a value cannot look like that, because its quotes are escaped.

update app.job_definitions set retry_classes = replace(replace(replace(replace(retry_classes::text,
  '"delaySeconds": ', '"delay_seconds": '), '"maxDelaySeconds": ', '"max_delay_seconds": '),
  '"maxAttempts": ', '"max_attempts": '), '"timeoutMultiplier": ', '"timeout_multiplier": ')::jsonb
where retry_classes <> '{}';

update app.job_definition_versions set retry_classes = replace(replace(replace(replace(retry_classes::text,
  '"delaySeconds": ', '"delay_seconds": '), '"maxDelaySeconds": ', '"max_delay_seconds": '),
  '"maxAttempts": ', '"max_attempts": '), '"timeoutMultiplier": ', '"timeout_multiplier": ')::jsonb
where retry_classes <> '{}';

update app.bulk_actions set target = replace(replace(replace(replace(replace(replace(replace(replace(replace(target::text,
  '"jobIds": ', '"job_ids": '), '"deadLetters": ', '"dead_letters": '), '"definitionKey": ', '"definition_key": '),
  '"errorType": ', '"error_type": '), '"correlationId": ', '"correlation_id": '),
  '"parentJobId": ', '"parent_job_id": '), '"retriedFromId": ', '"retried_from_id": '),
  '"createdAfter": ', '"created_after": '), '"createdBefore": ', '"created_before": ')::jsonb;
