"use client";

import { useQuery } from "@tanstack/react-query";
import { KeyRound } from "lucide-react";
import { useState } from "react";
import { Button } from "@/components/ui/button";
import { ConfirmDialog } from "@/components/ui/forms/confirm-dialog";
import { type Column, DataTable } from "@/components/ui/lists/data-table";
import { ShowNewest } from "@/components/ui/lists/show-newest";
import { Plain } from "@/components/ui/plain";
import { Empty, QueryProblem } from "@/components/ui/states";
import { Time } from "@/components/ui/time";
import { useToast } from "@/components/ui/toast";
import { useNow } from "@/lib/client/clock";
import { ApiError } from "@/lib/client/http";
import { usePinnedRows } from "@/lib/client/live/use-pinned-rows";
import { useRevokeWorkerKey, workerKeysOptions } from "@/lib/client/worker-keys";
import type { WorkerKey } from "@/lib/contract";
import { NewWorkerKeyDialog } from "./new-worker-key";

/** Worker keys: their scopes, and how to create and revoke them. */
export function WorkerKeys() {
  const query = useQuery(workerKeysOptions());
  const [making, setMaking] = useState(false);
  const [ending, setEnding] = useState<WorkerKey | null>(null);
  const {
    rows: keys,
    shown,
    showWaiting,
  } = usePinnedRows(query.data?.data, "keys", { whole: true, followsOwnChanges: true });
  return (
    <section aria-labelledby="worker-keys" className="flex flex-col gap-3">
      <header className="relative flex min-h-8 flex-wrap items-center gap-x-4 gap-y-2">
        <h2 id="worker-keys" className="font-semibold text-lg tracking-tight">
          Worker keys
        </h2>
        <ShowNewest
          className="z-10 max-sm:absolute max-sm:top-full max-sm:right-0"
          noun="key"
          waiting={shown.waiting.length}
          onShow={() => showWaiting()}
        />
        <Button size="sm" className="ml-auto" onClick={() => setMaking(true)}>
          New key
        </Button>
      </header>
      <div className="panel overflow-hidden">
        {query.isError && !keys ? (
          <QueryProblem query={query} />
        ) : keys?.length === 0 ? (
          <Empty icon={KeyRound} title="No keys">
            <p>A worker in any language claims jobs over HTTP with its own key, for the definitions that you choose.</p>
          </Empty>
        ) : (
          <KeyTable keys={keys} onRevoke={setEnding} />
        )}
      </div>
      <NewWorkerKeyDialog open={making} onClose={() => setMaking(false)} />
      <RevokeQuestion workerKey={ending} onClose={() => setEnding(null)} />
    </section>
  );
}

interface KeyTableProps {
  readonly keys: readonly WorkerKey[] | undefined;
  readonly onRevoke: (key: WorkerKey) => void;
}

function KeyTable({ keys, onRevoke }: KeyTableProps) {
  const now = useNow();
  return (
    <DataTable
      caption="Worker keys"
      columns={[...COLUMNS, lifeColumn(now), revokeColumn(now, onRevoke)]}
      rows={keys}
      rowKey={({ id }) => id}
      rowClass="h-14 hover:bg-hover"
      rowAttributes={(key) => ({ className: isOver(key, now) && "text-muted" })}
      loading={{ rows: 1, className: "h-14" }}
    />
  );
}

const isExpired = (key: WorkerKey, now: number): boolean => Date.parse(key.expires_at) <= now;
const isOver = (key: WorkerKey, now: number): boolean => key.revoked_at !== null || isExpired(key, now);

const COLUMNS: readonly Column<WorkerKey>[] = [
  {
    id: "key",
    head: "Key",
    className: "max-w-0",
    cell: ({ name, last4 }) => (
      <>
        <p className="truncate font-medium text-sm">
          <Plain text={name} />
        </p>
        <p className="truncate font-mono text-muted text-xs">…{last4}</p>
      </>
    ),
  },
  {
    id: "for",
    head: "For",
    from: "sm",
    width: "w-1/3",
    className: "max-w-0 text-sm",
    cell: ({ definitions, queues, tenant_slug: tenant }) => (
      <>
        <p className="truncate" title={definitions.join(", ")}>
          {definitions.join(", ")}
        </p>
        <p className="truncate text-muted text-xs">
          {tenant ? `tenant ${tenant}` : "every tenant"} · {queues ? queues.join(", ") : "every queue"}
        </p>
      </>
    ),
  },
  {
    id: "used",
    head: "Last used",
    from: "md",
    width: "w-36",
    className: "text-muted text-sm",
    cell: ({ last_used_at: at }) => (at ? <Time value={at} /> : "never"),
  },
];

const lifeColumn = (now: number): Column<WorkerKey> => ({
  id: "life",
  head: "Valid until",
  width: "w-32",
  className: "text-sm",
  cell: (key) => (
    <>
      {key.revoked_at ? "Revoked " : isExpired(key, now) ? "Expired " : ""}
      <Time value={key.revoked_at ?? key.expires_at} />
    </>
  ),
});

const revokeColumn = (now: number, onRevoke: (key: WorkerKey) => void): Column<WorkerKey> => ({
  id: "actions",
  head: "Actions",
  headHidden: true,
  width: "w-24",
  className: "text-right",
  cell: (key) =>
    isOver(key, now) ? null : (
      <Button size="sm" variant="danger" aria-label={`Revoke ${key.name}`} onClick={() => onRevoke(key)}>
        Revoke
      </Button>
    ),
});

function RevokeQuestion({
  workerKey,
  onClose,
}: {
  readonly workerKey: WorkerKey | null;
  readonly onClose: () => void;
}) {
  const revoke = useRevokeWorkerKey();
  const toast = useToast();
  const send = (key: WorkerKey) =>
    revoke.mutate(key.id, {
      onSuccess: () => {
        onClose();
        toast({ title: "Key revoked" });
      },
      onError: (error) =>
        toast({
          title: "Could not revoke the key",
          detail: error instanceof ApiError ? error.message : "Try again.",
          tone: "bad",
        }),
    });
  return (
    <ConfirmDialog
      title="Revoke this key?"
      open={workerKey !== null}
      keep="Keep it"
      action="Revoke"
      busy={revoke.isPending}
      onConfirm={() => workerKey && send(workerKey)}
      onClose={onClose}
    >
      <p>
        Workers that use <strong>{workerKey?.name}</strong> are refused from now on. Other workers take over their jobs
        when the leases expire.
      </p>
    </ConfirmDialog>
  );
}
