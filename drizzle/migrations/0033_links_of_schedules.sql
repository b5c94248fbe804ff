-- A schedule's job may wait for the one that runs: the leader enqueues it.
grant execute on function app.link_items(uuid, jsonb, uuid[], jsonb) to leasehold_scheduler;
