-- The process of an attempt while it runs, and the last progress message of one that has ended.
alter table app.live_jobs add column pid integer;
grant update (pid) on app.live_jobs to leasehold_worker, leasehold_scheduler;

alter table app.job_attempts add column progress_message text;
