/*
 * The Dead letters page: jobs that ran out of attempts or failed permanently, their triage, and how to put them back.
 * Without a status in the address it shows those that are pending or investigating. Putting back all that match applies
 * to the filters on the screen, after a count. A row that no longer matches stays in place until the user asks for the
 * newest.
 *
 * Start with the page below, then `dead-letter-table.tsx` and `triage-dialog.tsx`.
 */

"use client";

import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Inbox } from "lucide-react";
import { parseAsArrayOf, parseAsString, parseAsStringLiteral, useQueryStates } from "nuqs";
import { useState } from "react";
import { Button } from "@/components/ui/button";
import { Link } from "@/components/ui/link";
import { ListPanel } from "@/components/ui/lists/list-panel";
import { TotalPager } from "@/components/ui/lists/pager";
import { PageHeader } from "@/components/ui/page-header";
import { Empty } from "@/components/ui/states";
import { type DeadLetterListParams, deadLetterKeys, deadLettersOptions } from "@/lib/client/jobs/dead-letters";
import type { BulkActionDraft } from "@/lib/client/jobs/job-actions";
import { usePollInterval } from "@/lib/client/live/use-live";
import { usePinnedRows } from "@/lib/client/live/use-pinned-rows";
import { useRefresh } from "@/lib/client/live/use-refresh";
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
  const { query, rows, shown, showWaiting } = useDeadLetters(slug, { ...url, status });
  const [startedId, setStartedId] = useState<string | null>(null);
  return (
    <div className="flex flex-col gap-4">
      <PageHeader
        title="Dead letters"
        about="Jobs that ran out of attempts or failed permanently. They wait here for a decision."
      >
        <RedriveAll
          filters={{ status, definition: url.definition }}
          total={query.data?.pagination.total ?? 0}
          onStarted={setStartedId}
        />
      </PageHeader>
      <Filters
        chosen={{ status: url.status === null ? null : status, definition: url.definition }}
        onChange={({ status: wanted, definition }) =>
          void setUrl({ status: wanted?.length === 0 ? ["any"] : wanted && [...wanted], definition, cursor: null })
        }
      />
      {startedId ? <ActionProgress id={startedId} onDismiss={() => setStartedId(null)} /> : null}
      <ListPanel
        label="Dead letters"
        noun="dead letter"
        query={query}
        rows={rows}
        waiting={url.cursor === null ? shown.waiting.length : 0}
        onShow={() => showWaiting()}
        empty={<Nothing slug={slug} />}
        footer={
          <TotalPager
            page={query.data}
            unit="in all"
            cursor={url.cursor}
            onTurn={(cursor) => void setUrl({ cursor })}
          />
        }
      >
        <DeadLetterTable letters={rows} gone={shown.gone} />
      </ListPanel>
    </div>
  );
}

function useDeadLetters(slug: string, params: DeadLetterListParams) {
  const query = useQuery({
    ...deadLettersOptions(slug, params),
    placeholderData: keepPreviousData,
    refetchInterval: usePollInterval(),
  });
  const latest = query.isPlaceholderData ? undefined : query.data?.data;
  const { rows, shown, showWaiting } = usePinnedRows(latest, JSON.stringify(params));
  useRefresh(
    deadLetterKeys.all(slug),
    ({ id, status }) => status === "dead_letter" || shown.rows.some((letter) => letter.id === id),
  );
  return { query, rows, shown, showWaiting };
}

interface RedriveAllProps {
  readonly filters: DeadLetterFilters;
  readonly total: number;
  readonly onStarted: (actionId: string) => void;
}

/** The button that redrives all dead letters that match, and its dialog. */
function RedriveAll({ filters, total, onStarted }: RedriveAllProps) {
  const [open, setOpen] = useState(false);
  const noRetry = useReason("jobs:retry");
  return (
    <>
      <Button reason={noRetry ?? (total > 0 ? null : "No dead letter matches.")} onClick={() => setOpen(true)}>
        Put back all that match…
      </Button>
      {open ? (
        <BulkDialog
          action="redrive"
          request={redriveOf(filters)}
          onClose={() => setOpen(false)}
          onStarted={(action) => onStarted(action.id)}
        />
      ) : null}
    </>
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
