-- Finds keys whose job ended inside their window once the window is over.
create index dedupe_keys_over on app.dedupe_keys (held_until) where not live;
