-- A producer's own id counts for this producer alone: nobody else keeps its event from being stored.
drop index app.events_producer;
create unique index events_producer on app.events (tenant_id, producer_id, actor_kind,
  coalesce(actor_id, '00000000-0000-0000-0000-000000000000')) where producer_id is not null;
