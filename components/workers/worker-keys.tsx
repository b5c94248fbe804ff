"use client";

import { useQuery } from "@tanstack/react-query";
import { KeyRound } from "lucide-react";
import { useState } from "react";
import { Button } from "@/components/ui/button";
import { cn } from "@/components/ui/cn";
import { Dialog, DialogActions, DialogBody } from "@/components/ui/dialog";
import { Plain } from "@/components/ui/plain";
import { ShowNewest } from "@/components/ui/show-newest";
import { Empty, ProblemPanel, Skeleton } from "@/components/ui/states";
import { Time } from "@/components/ui/time";
import { useToast } from "@/components/ui/toast";
import { useNow } from "@/lib/client/clock";
import { ApiError } from "@/lib/client/http";
import { usePinnedRows } from "@/lib/client/live/use-pinned-rows";
import { useRevokeWorkerKey, workerKeysOptions } from "@/lib/client/worker-keys";
import type { WorkerKey } from "@/lib/contract";
import { NewWorkerKeyDialog } from "./new-worker-key";

const HEAD = "h-9 px-3 text-left font-medium text-muted text-xs";

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
          <ProblemPanel error={query.error} onRetry={() => query.refetch()} busy={query.isFetching} />
        ) : keys?.length === 0 ? (
          <Empty icon={KeyRound} title="No keys">
            <p>
              A worker in any language claims jobs over HTTP with its own key, for the definitions that you choose.
            </p>
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

function KeyTable({
  keys,
  onRevoke,
}: {
  readonly keys: readonly WorkerKey[] | undefined;
  readonly onRevoke: (key: WorkerKey) => void;
}) {
  return (
    <table aria-busy={keys === undefined} className="w-full">
      <caption className="sr-only">Worker keys</caption>
      <thead>
        <tr>
          <th scope="col" className={`${HEAD} sm:pl-4`}>
            Key
          </th>
          <th scope="col" className={`${HEAD} hidden w-1/3 sm:table-cell`}>
            For
          </th>
          <th scope="col" className={`${HEAD} hidden w-36 md:table-cell`}>
            Last used
          </th>
          <th scope="col" className={`${HEAD} w-32`}>
            Valid until
          </th>
          <th scope="col" className={`${HEAD} w-24`}>
            <span className="sr-only">Actions</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {keys?.map((key) => <KeyRow key={key.id} workerKey={key} onRevoke={onRevoke} />) ?? (
          <tr className="h-14 border-line border-t">
            <td colSpan={5} className="px-4">
              <Skeleton className="h-4 w-48" />
            </td>
          </tr>
        )}
      </tbody>
    </table>
  );
}

function KeyRow({
  workerKey,
  onRevoke,
}: {
  readonly workerKey: WorkerKey;
  readonly onRevoke: (key: WorkerKey) => void;
}) {
  const { name, last4, definitions, queues, tenant_slug, last_used_at, expires_at, revoked_at } = workerKey;
  const expired = Date.parse(expires_at) <= useNow();
  const over = revoked_at !== null || expired;
  return (
    <tr className={cn("h-14 border-line border-t hover:bg-hover", over && "text-muted")}>
      <td className="max-w-0 px-3 sm:pl-4">
        <p className="truncate font-medium text-sm">
          <Plain text={name} />
        </p>
        <p className="truncate font-mono text-muted text-xs">…{last4}</p>
      </td>
      <td className="hidden max-w-0 px-3 text-sm sm:table-cell">
        <p className="truncate" title={definitions.join(", ")}>
          {definitions.join(", ")}
        </p>
        <p className="truncate text-muted text-xs">
          {tenant_slug ? `tenant ${tenant_slug}` : "every tenant"} · {queues ? queues.join(", ") : "every queue"}
        </p>
      </td>
      <td className="hidden px-3 text-muted text-sm md:table-cell">
        {last_used_at ? <Time value={last_used_at} /> : "never"}
      </td>
      <td className="px-3 text-sm">
        {revoked_at ? (
          <>
            Revoked <Time value={revoked_at} />
          </>
        ) : (
          <>
            {expired ? "Expired " : ""}
            <Time value={expires_at} />
          </>
        )}
      </td>
      <td className="px-3 text-right">
        {over ? null : (
          <Button size="sm" variant="danger" aria-label={`Revoke ${name}`} onClick={() => onRevoke(workerKey)}>
            Revoke
          </Button>
        )}
      </td>
    </tr>
  );
}

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
    <Dialog title="Revoke this key?" open={workerKey !== null} onClose={onClose}>
      <DialogBody>
        <p className="text-sm">
          Workers that use <strong>{workerKey?.name}</strong> are refused from now on. Other workers take over their jobs
          when the leases expire.
        </p>
      </DialogBody>
      <DialogActions>
        <Button onClick={onClose}>Keep it</Button>
        <Button variant="danger" busy={revoke.isPending} onClick={() => workerKey && send(workerKey)}>
          Revoke
        </Button>
      </DialogActions>
    </Dialog>
  );
}
