-- Scripts, styles and fonts of every build of the pages that is being served. Behind a load balancer a page may come from
-- one build and its script be asked of another; any web process can answer with what the other one published.
create table app.web_assets (
  path text not null primary key check (path ~ '^/_next/static/[A-Za-z0-9._~/-]+$' and length(path) <= 300),
  media_type text not null check (length(media_type) between 1 and 100),
  body bytea not null check (octet_length(body) <= 16777216),
  -- when a process that serves this build last said so; a week later it is deleted
  published_at timestamptz not null default app.now()
);
grant select, insert, delete on app.web_assets to leasehold_web;
grant update (published_at) on app.web_assets to leasehold_web;
