-- A job names its newest edited retry, and a list finds all of them. The index holds edited retries alone, which are few.
create index jobs_by_retried_from on app.jobs (tenant_id, retried_from_id, id) with (deduplicate_items = off)
  where retried_from_id is not null;
