-- Acts on many jobs, and what people make of dead letters.

-- A change of priority may move a job to another lane, and a later run goes on as the job was changed; nothing else of
-- the record is ever written again.
grant update (lane_no) on app.live_jobs to leasehold_web;
grant update (lane_no, priority, scheduled_for) on app.jobs to leasehold_web;
