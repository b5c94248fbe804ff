-- Jobs of a chunk that an action has set aside: what they wait for is still to come by. They are taken up, the oldest
-- first, when it has come by all others.
alter table app.bulk_action_chunks add column held_ids uuid[] not null default '{}';
grant update (held_ids) on app.bulk_action_chunks to leasehold_web;
