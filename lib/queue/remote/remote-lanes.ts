import type { Runner } from "@/lib/db";
import { SORT_KEY_SLACK, WholeLooks } from "../lanes/whole-looks.policy";
import { leasedCountSql, remoteLanesPartlySql, remoteLanesSql } from "./remote-work.sql";

const LANES_PER_LOOK = 256;
const MOST_REMEMBERED = 1000;
/** Jobs enqueued at most this many seconds ago are found by any scan. */
const FRESH_SECONDS = 3;

/** The jobs that a remote worker may get. */
export interface RemoteScope {
  readonly definitions: readonly string[];
  /** Queue names; null = any. */
  readonly queues: readonly string[] | null;
  /** Null = any tenant. */
  readonly tenantId: string | null;
}

export interface FoundLane {
  readonly laneNo: number;
  /** The longest lease that the lane's definition allows. */
  readonly leaseSeconds: number;
  /** Sort key from which to read the lane; undefined = from its beginning. */
  readonly from: number | undefined;
}

interface Row {
  lane_no: number;
  lease_seconds: number;
  head: number;
  seen: number | null;
}

/**
 * Finds lanes with ready jobs of one scope, and records where they begin. While full scans are costly (see
 * `WholeLooks`), scans in between find new jobs, and older ones from where their lane began at the last scan. Create
 * one per scope and process.
 */
export class RemoteLanes {
  private readonly looks = new WholeLooks();
  private readonly marks = new Map<number, number>();
  private looking = false;
  private asked = false;

  /** @param clock returns milliseconds that never go back */
  constructor(private readonly clock: () => number = () => performance.now()) {}

  /** Requests a full scan within a second or so, because jobs may be ready where partial scans do not reach. */
  askForWholeLook(): void {
    this.asked = true;
  }

  async find(db: Runner, scope: RemoteScope): Promise<FoundLane[]> {
    if (this.asked) this.looks.ask();
    const now = this.clock();
    if (this.looks.isCostly && (this.looking || !this.looks.isDue(now))) return this.findPartly(db, scope);
    this.looking = true;
    this.asked = false;
    try {
      const rows = await db.run<Row>(remoteLanesSql, valuesOf(scope));
      const end = this.clock();
      this.looks.took(end - now, end);
      return this.found(rows);
    } finally {
      this.looking = false;
    }
  }

  private async findPartly(db: Runner, scope: RemoteScope): Promise<FoundLane[]> {
    const lows = [...this.marks.values()].map((mark) => mark - SORT_KEY_SLACK);
    const values = [...valuesOf(scope), [...this.marks.keys()], lows, FRESH_SECONDS];
    return this.found(await db.run<Row>(remoteLanesPartlySql, values));
  }

  private found(rows: readonly Row[]): FoundLane[] {
    if (this.marks.size > MOST_REMEMBERED) this.marks.clear();
    for (const { lane_no, head, seen } of rows) {
      // A new job before the mark is claimed from its own position, and the mark stays.
      if (seen !== null || !this.marks.has(lane_no)) this.marks.set(lane_no, seen ?? head);
    }
    const { isCostly } = this.looks;
    return rows.map((row) => ({
      laneNo: row.lane_no,
      leaseSeconds: row.lease_seconds,
      from: isCostly ? row.head : undefined,
    }));
  }
}

const valuesOf = ({ definitions, queues, tenantId }: RemoteScope): unknown[] => [
  definitions,
  queues,
  tenantId,
  LANES_PER_LOOK,
];

/** Counts a worker's leased attempts, as rarely as `looks` allows; null = not counted this time. */
export async function countLeased(db: Runner, workerId: string, looks: WholeLooks): Promise<number | null> {
  const now = performance.now();
  if (!looks.isDue(now)) return null;
  const [row] = await db.run<{ n: number }>(leasedCountSql, [workerId]);
  const end = performance.now();
  looks.took(end - now, end);
  return row?.n ?? 0;
}
