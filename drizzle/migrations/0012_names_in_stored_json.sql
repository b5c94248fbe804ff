-- Stored JSON has the names of the API: the retry policies of error classes, and the targets of bulk actions. A key is a
-- text before a colon; a text inside a value cannot end that way, because its quotes are escaped.

create function pg_temp.in_snake_case(stored jsonb, names text[]) returns jsonb
  language plpgsql as $$
  declare
    changed text := stored::text;
    name text;
  begin
    foreach name in array names loop
      changed := replace(changed, format('"%s": ', name),
        format('"%s": ', lower(regexp_replace(name, '([A-Z])', '_\1', 'g'))));
    end loop;
    return changed::jsonb;
  end $$;

update app.job_definitions set retry_classes = pg_temp.in_snake_case(retry_classes,
  '{delaySeconds,maxDelaySeconds,maxAttempts,timeoutMultiplier}')
where retry_classes <> '{}';

update app.job_definition_versions set retry_classes = pg_temp.in_snake_case(retry_classes,
  '{delaySeconds,maxDelaySeconds,maxAttempts,timeoutMultiplier}')
where retry_classes <> '{}';

update app.bulk_actions set target = pg_temp.in_snake_case(target,
  '{jobIds,deadLetters,definitionKey,errorType,correlationId,parentJobId,retriedFromId,createdAfter,createdBefore}');
