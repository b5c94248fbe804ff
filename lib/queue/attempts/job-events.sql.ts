/**
 * For statements that end jobs (CTE `ended`): the CTE that stores an event `job.<outcome>` for each of them whose tenant has
 * a trigger that listens to it, to be looked at by the leading scheduler. Where nobody listens, it looks at a table that
 * is almost empty, and at nothing else.
 * @param outcome the outcome of a row `e` of `ended`
 */
export const publishedOf = (outcome: string): string => `published as (
     insert into app.events (tenant_id, name, data, source, caused_by_job_id, status)
     select e.tenant_id, 'job.' || ${outcome}, jsonb_build_object('job_id', e.job_id, 'run_no', e.run_no), 'job',
       e.job_id, 'pending'
     from ended e join app.job_listeners k on k.tenant_id = e.tenant_id and 'job.' || ${outcome} = any (k.event_names)
   )`;
