/**
 * Returns a CTE for statements that end jobs (CTE `ended`). It stores an event `job.<outcome>` for each job whose
 * tenant has a trigger on that event, for the leading scheduler to process. Without such triggers it reads one table
 * that is almost empty, and nothing else.
 * @param outcome the outcome of a row `e` of `ended`
 */
export const publishedOf = (outcome: string): string => `published as (
     insert into app.events (tenant_id, name, data, source, caused_by_job_id, status)
     select e.tenant_id, 'job.' || ${outcome}, jsonb_build_object('job_id', e.job_id, 'run_no', e.run_no), 'job',
       e.job_id, 'pending'
     from ended e join app.job_listeners k on k.tenant_id = e.tenant_id and 'job.' || ${outcome} = any (k.event_names)
   )`;
