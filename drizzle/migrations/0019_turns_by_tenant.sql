-- Whose turn it is among bulk actions goes by tenants: when one last had a turn, whichever of its actions it was.
create index bulk_actions_turns on app.bulk_actions (tenant_id, taken_at desc nulls last);
create index bulk_actions_open_of_tenant on app.bulk_actions (tenant_id) where finished_at is null;
