import { AsyncLocalStorage } from "node:async_hooks";
import dns from "node:dns";
import { syncBuiltinESMExports } from "node:module";
import net from "node:net";
import { isTestBuild } from "@/lib/env/test-build";

interface Mark {
  /** False once the transaction has ended, so work that outlives it is not guarded. */
  open: boolean;
}

// On globalThis, because the front and the pages are bundled separately and share one process.
const MARKS = Symbol.for("leasehold.transaction-marks");
const slots = globalThis as unknown as { [MARKS]?: AsyncLocalStorage<Mark> | undefined };

const LOOKUPS = ["lookup", "lookupService", "reverse", "resolve", "resolveAny", "resolve4", "resolve6", "resolveCname"];

/** Runs the work of a transaction. In a guarded process, network calls throw until the work settles. */
export async function asTransaction<T>(work: () => Promise<T>): Promise<T> {
  const marks = slots[MARKS];
  if (!marks) return work();
  const mark = { open: true };
  try {
    return await marks.run(mark, work);
  } finally {
    mark.open = false;
  }
}

/** Runs work of the connection pools, which may connect while a transaction is open. */
export function outsideTransactions<T>(work: () => T): T {
  const marks = slots[MARKS];
  return marks ? marks.exit(work) : work();
}

/**
 * Makes connections, HTTP requests and DNS queries throw inside transactions, because such a transaction would hold its
 * pooled connection and locks until a remote server answers. For test builds. Returns a function that removes the
 * guard.
 */
export function guardTransactions(): () => void {
  if (slots[MARKS]) return () => undefined;
  const marks = new AsyncLocalStorage<Mark>();
  slots[MARKS] = marks;
  const undo = [
    ...wrapped(net.Socket.prototype, ["connect"], marks),
    ...wrapped(globalThis, ["fetch"], marks),
    ...[dns, dns.promises, dns.Resolver.prototype, dns.promises.Resolver.prototype].flatMap((owner) =>
      wrapped(owner, LOOKUPS, marks),
    ),
  ];
  syncBuiltinESMExports();
  return () => {
    for (const restore of undo) restore();
    syncBuiltinESMExports();
    slots[MARKS] = undefined;
  };
}

function wrapped(owner: object, names: readonly string[], marks: AsyncLocalStorage<Mark>): (() => void)[] {
  const methods = owner as Record<string, unknown>;
  return names.flatMap((name) => {
    const original = methods[name];
    if (typeof original !== "function") return [];
    methods[name] = function guarded(this: unknown, ...args: unknown[]) {
      if (marks.getStore()?.open)
        throw new Error(`${name} inside a transaction waits for a network: call it before the transaction`);
      return original.apply(this, args);
    };
    return [
      () => {
        methods[name] = original;
      },
    ];
  });
}

if (isTestBuild) guardTransactions();
