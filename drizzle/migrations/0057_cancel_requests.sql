-- A worker asks once a second which of its jobs are to be canceled. live_jobs_running has an entry of every job that ran since
-- the oldest snapshot; this index has those with a cancel request alone. No heartbeat touches its columns.
create index live_jobs_cancel_requests on app.live_jobs (claimed_by_worker) where cancel_requested_at is not null;
