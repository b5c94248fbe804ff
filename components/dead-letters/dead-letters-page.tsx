"use client";

import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Inbox } from "lucide-react";
import { parseAsArrayOf, parseAsString, parseAsStringLiteral, useQueryStates } from "nuqs";
import { useState } from "react";
import { Button } from "@/components/ui/button";
import { Link } from "@/components/ui/link";
import { ListBar } from "@/components/ui/list-bar";
import { Empty, ProblemPanel } from "@/components/ui/states";
import { formatCount } from "@/lib/client/format";
import { deadLetterKeys, deadLettersOptions } from "@/lib/client/jobs/dead-letters";
import type { BulkActionDraft } from "@/lib/client/jobs/job-actions";
import { usePollInterval } from "@/lib/client/live/use-live";
import { usePinnedRows } from "@/lib/client/live/use-pinned-rows";
import { useRefresh } from "@/lib/client/live/use-refresh";
import type { Pagination } from "@/lib/contract";
import { OPEN_TRIAGE, TRIAGE_STATUSES, type TriageStatus } from "@/lib/queue/states";
import { ActionProgress } from "../actions/action-progress";
import { BulkDialog } from "../actions/bulk-dialog";
import { useReason, useTenant } from "../shell/viewer";
import { type DeadLetterFilters, Filters } from "./dead-letter-filters";
import { DeadLetterTable } from "./dead-letter-table";

const parsers = {
  status: parseAsArrayOf(parseAsStringLiteral([...TRIAGE_STATUSES, "any"] as const)),
  definition: parseAsString,
  cursor: parseAsString,
};

/** Jobs that failed permanently: their triage, and how to redrive them. */
export function DeadLettersPage() {
  const { slug } = useTenant();
  const [url, setUrl] = useQueryStates(parsers, { history: "push" });
  const status = (url.status ?? OPEN_TRIAGE).filter((one): one is TriageStatus => one !== "any");
  const query = useQuery({
    ...deadLettersOptions(slug, { status, definition: url.definition, cursor: url.cursor }),
    placeholderData: keepPreviousData,
    refetchInterval: usePollInterval(),
  });
  const [redriving, setRedriving] = useState(false);
  const [startedId, setStartedId] = useState<string | null>(null);
  const noRetry = useReason("jobs:retry");
  const page = query.data;
  const latest = query.isPlaceholderData ? undefined : page?.data;
  const { rows, shown, showWaiting } = usePinnedRows(latest, JSON.stringify(url));
  useRefresh(
    deadLetterKeys.all(slug),
    ({ id, status: now }) => now === "dead_letter" || shown.rows.some((letter) => letter.id === id),
  );
  const nothing = page?.pagination.total ? null : "No dead letter matches.";
  return (
    <div className="flex flex-col gap-4">
      <header className="flex flex-wrap items-center gap-3">
        <div className="min-w-0 flex-1 basis-56">
          <h1 className="font-semibold text-xl tracking-tight">Dead letters</h1>
          <p className="text-muted text-sm">
            Jobs that ran out of attempts or failed permanently. They wait here for a decision.
          </p>
        </div>
        <Button reason={noRetry ?? nothing} onClick={() => setRedriving(true)}>
          Put back all that match…
        </Button>
      </header>
      <Filters
        chosen={{ status: url.status === null ? null : status, definition: url.definition }}
        onChange={({ status: wanted, definition }) =>
          void setUrl({ status: wanted?.length === 0 ? ["any"] : wanted && [...wanted], definition, cursor: null })
        }
      />
      {startedId ? <ActionProgress id={startedId} onDismiss={() => setStartedId(null)} /> : null}
      <section aria-label="Dead letters" className="panel overflow-clip">
        <ListBar
          noun="dead letter"
          waiting={url.cursor === null ? shown.waiting.length : 0}
          onShow={() => showWaiting()}
          read={page !== undefined}
          staleSince={query.isError && page ? query.dataUpdatedAt : null}
          onRetry={() => void query.refetch()}
        />
        {query.isError && !page ? (
          <ProblemPanel error={query.error} onRetry={() => query.refetch()} busy={query.isFetching} />
        ) : rows?.length === 0 ? (
          <Nothing slug={slug} />
        ) : (
          <DeadLetterTable letters={rows} gone={shown.gone} />
        )}
        {page && page.data.length > 0 ? (
          <Pager pagination={page.pagination} cursor={url.cursor} onTurn={(cursor) => void setUrl({ cursor })} />
        ) : null}
      </section>
      {redriving ? (
        <BulkDialog
          action="redrive"
          request={redriveOf({ status, definition: url.definition })}
          onClose={() => setRedriving(false)}
          onStarted={(action) => setStartedId(action.id)}
        />
      ) : null}
    </div>
  );
}

function redriveOf({ status, definition }: DeadLetterFilters): BulkActionDraft {
  const filter = {
    // Omitted, it would mean the open ones.
    status: status && status.length > 0 ? [...status] : [...TRIAGE_STATUSES],
    ...(definition ? { definition_key: definition } : {}),
  };
  return { kind: "dead-letters", body: filter };
}

function Nothing({ slug }: { readonly slug: string }) {
  return (
    <Empty icon={Inbox} title="No dead letters">
      <p>Jobs that ran out of attempts or failed permanently appear here. Try other filters.</p>
      <Link href={`/t/${slug}/jobs`} className="font-medium text-accent underline">
        Go to jobs
      </Link>
    </Empty>
  );
}

interface PagerProps {
  readonly pagination: Pagination;
  readonly cursor: string | null;
  readonly onTurn: (cursor: string | null) => void;
}

function Pager({ pagination, cursor, onTurn }: PagerProps) {
  return (
    <nav aria-label="Pages" className="flex items-center gap-2 border-line border-t px-4 py-2">
      <p className="tabular flex-1 text-muted text-xs">
        {pagination.total_relation === "gte" ? "more than " : ""}
        {formatCount(pagination.total)} in all
      </p>
      {cursor !== null ? (
        <Button size="sm" onClick={() => onTurn(null)}>
          Newest
        </Button>
      ) : null}
      {pagination.has_more ? (
        <Button size="sm" onClick={() => onTurn(pagination.next_cursor)}>
          Older
        </Button>
      ) : null}
    </nav>
  );
}
