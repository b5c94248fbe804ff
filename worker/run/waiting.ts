import type { ClaimedJob } from "@/lib/queue/worker";

/**
 * The waiting jobs of one tenant, in order. Not a Set: taking its first entry would step over all entries removed
 * before it, for each job.
 */
interface Line<T> {
  items: (T | undefined)[];
  /** Index of the first waiting job; entries before it have been taken. */
  head: number;
  size: number;
}

/** Jobs that were claimed ahead. Tenants take turns, so that one tenant's many jobs do not delay another's. */
export class Waiting<T extends { readonly job: Pick<ClaimedJob, "tenantId"> }> {
  private readonly tenants = new Map<string, Line<T>>();
  size = 0;

  add(item: T): void {
    const { tenantId } = item.job;
    let own = this.tenants.get(tenantId);
    if (!own) {
      own = { items: [], head: 0, size: 0 };
      this.tenants.set(tenantId, own);
    }
    own.items.push(item);
    own.size += 1;
    this.size += 1;
  }

  /** Removes and returns the next job. */
  next(): T | undefined {
    const [first] = this.tenants;
    if (!first) return undefined;
    const [tenantId, own] = first;
    const item = takeFirst(own);
    this.size -= 1;
    // A tenant that is alone keeps its turn.
    if (own.size === 0 || this.tenants.size > 1) this.tenants.delete(tenantId);
    if (own.size > 0) this.tenants.set(tenantId, own);
    return item;
  }

  /** A no-op when the job is not there. */
  remove(item: T): void {
    const { tenantId } = item.job;
    const own = this.tenants.get(tenantId);
    const at = own?.items.indexOf(item, own.head) ?? -1;
    if (!own || at < 0) return;
    own.items[at] = undefined;
    own.size -= 1;
    this.size -= 1;
    if (own.size === 0) this.tenants.delete(tenantId);
  }

  all(): T[] {
    return [...this.tenants.values()].flatMap(({ items }) => items.filter((item) => item !== undefined));
  }
}

function takeFirst<T>(line: Line<T>): T | undefined {
  while (line.head < line.items.length && line.items[line.head] === undefined) line.head += 1;
  const item = line.items[line.head];
  line.items[line.head] = undefined;
  line.head += 1;
  line.size -= 1;
  // Taken entries are removed in bulk from time to time, not one by one.
  if (line.head > 1000 && line.head * 2 > line.items.length) {
    line.items = line.items.slice(line.head);
    line.head = 0;
  }
  return item;
}
