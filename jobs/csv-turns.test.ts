import { readFileSync } from "node:fs";
import { beforeAll, expect, test } from "vitest";
import { cut } from "./csv.fixture";
import { useBuiltCsvThread } from "./csv-thread.fixture";
import type { CsvOptions } from "./handlers/csv-dialect";
import type { PackedBatch } from "./handlers/csv-packed";
import { csvThread, readRowsInThread } from "./handlers/csv-thread";
import { longestMainTurn } from "./main-turns.fixture";

const MOST_MS = 100;
const KB = 1024;
const MB = 1024 * KB;
const ASKED: CsvOptions = { delimiter: ",", quote: '"', encoding: "utf-8" };
const columns = (name: (n: number) => string) => Array.from({ length: 1600 }, (_, n) => name(n)).join(",");
beforeAll(useBuiltCsvThread);

interface Reading {
  readonly options?: CsvOptions;
  readonly signal?: AbortSignal;
  readonly onBatch?: (batch: PackedBatch) => unknown;
}

async function read(bytes: Buffer, { options = ASKED, signal, onBatch }: Reading = {}): Promise<PackedBatch[]> {
  const batches: PackedBatch[] = [];
  const file = cut(bytes, 256 * KB);
  const asked = { options, signal: signal ?? new AbortController().signal, tenantId: "t" };
  for await (const batch of readRowsInThread(file, asked)) {
    batches.push(batch);
    await onBatch?.(batch);
  }
  return batches;
}

test.each<{ what: string; head?: string; text: string; bytes: number; tail?: string; options?: CsvOptions }>([
  { what: "a stray quote in each record", text: 'b"\n', bytes: 90 * KB },
  { what: "short records", text: "1,b\n", bytes: 512 * KB },
  { what: "a NUL in each record", text: "b\u0000\n", bytes: 90 * KB },
  { what: "a record of commas", text: ",", bytes: 4 * MB, tail: "\n3,4\n" },
  { what: "a record of doubled quotes", head: '"', text: '""', bytes: 12 * MB, tail: '",2\n' },
  { what: "a record of control characters", head: 'a,b\n"', text: "\u0001", bytes: 12 * MB, tail: '",2\n' },
  {
    what: "1,600 columns of one long name",
    head: `${columns(() => "n".repeat(200))}\n`,
    text: `${",".repeat(1599)}\n`,
    bytes: 32 * KB,
    options: {},
  },
  { what: "a head of delimiters", head: ",;\t|", text: ",;\t|", bytes: 256 * KB, tail: "\n1,2\n", options: {} },
])(
  "$what blocks the event loop for less than 100 ms",
  async ({ head = "a,b\n1,2\n", text, bytes, tail = "", options }) => {
    const whole = Buffer.concat([Buffer.from(head), Buffer.alloc(bytes, text), Buffer.from(tail)]);
    const longestMs = await longestMainTurn(
      () => read(whole, options ? { options } : {}).catch(() => undefined),
      MOST_MS,
    );
    expect(longestMs).toBeLessThan(MOST_MS);
  },
);

test("an error of the file arrives from the thread with all its fields", async () => {
  await expect(read(Buffer.from('a,b\n"open,1\n'))).rejects.toMatchObject({
    name: "NonRetryableError",
    message: "the record that begins in line 2 cannot be read: a quoted field is not closed",
    errorType: "invalid_input",
    retryable: false,
  });
});

test("a record of more than a million fields fails the import", async () => {
  const file = Buffer.concat([Buffer.from("a,b\n1,2\n"), Buffer.alloc(4 * MB, ","), Buffer.from("\n3,4\n")]);
  await expect(read(file)).rejects.toThrow("the record that begins in line 3 cannot be read: it has more than 1000000");
});

test("an error of the file's reader reaches the caller, and the thread ends", async () => {
  async function* broken(): AsyncGenerator<Buffer> {
    yield Buffer.from("a,b\n1,2\n");
    throw new Error("the disk is gone");
  }
  const before = threads();
  const batches = readRowsInThread(broken(), { options: {}, signal: new AbortController().signal, tenantId: "t" });
  await expect(batches.next()).rejects.toThrow("the disk is gone");
  expect(threads()).toBeLessThanOrEqual(before);
});

test.each([1, 5])("an aborted attempt ends its thread (after %i batches)", async (count) => {
  const abort = new AbortController();
  const before = threads();
  let seen = 0;
  const onBatch = () => {
    seen += 1;
    if (seen === count) abort.abort("cancelled");
  };
  const reading = read(Buffer.alloc(64 * KB, "1,2\n"), { signal: abort.signal, onBatch });
  await expect(reading).rejects.toThrow("the attempt was stopped: cancelled");
  expect(seen).toBe(count);
  expect(threads()).toBeLessThanOrEqual(before);
});

test("a thread that dies fails the attempt with the reason", async () => {
  const built = csvThread.url;
  csvThread.url = new URL("data:text/javascript,process.exit(3)");
  try {
    await expect(read(Buffer.from("a\n1\n"))).rejects.toMatchObject({
      message: "the thread that reads the file died: it ended with code 3",
      errorType: "internal",
    });
  } finally {
    csvThread.url = built;
  }
});

test("15 files with long records are read at once in less than 300 MB, one record at a time", {
  timeout: 120_000,
}, async () => {
  const file = Buffer.concat([
    Buffer.from('a,b\n"'),
    Buffer.alloc(3 * MB, '""'),
    Buffer.from('",2\n3,4\n'),
    Buffer.alloc(16 * KB, "5,6\n"),
  ]);
  const before = process.memoryUsage.rss();
  let peak = before;
  const onBatch = () => {
    peak = Math.max(peak, process.memoryUsage.rss());
  };
  const read15 = await Promise.all(Array.from({ length: 15 }, () => read(file, { onBatch })));
  for (const batches of read15) expect(batches.reduce((sum, batch) => sum + batch.rowCount, 0)).toBe(4098);
  expect((peak - before) / MB).toBeLessThan(300);
});

/** A file of which only the beginning can be read until `goOn` is called. */
function halted(begin: Buffer) {
  let [goOn, reach] = [() => {}, () => {}];
  const more = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const reached = new Promise<void>((resolve) => {
    reach = resolve;
  });
  async function* file(): AsyncGenerator<Buffer> {
    yield* cut(begin, 256 * KB);
    reach();
    await more;
  }
  return { file: file(), goOn, reached };
}
const open = (file: AsyncIterable<Buffer>, tenantId: string) =>
  readRowsInThread(file, { options: ASKED, signal: new AbortController().signal, tenantId });
/** Size of a file of empty lines. */
const FILE_MB = 192;
const rowsIn = async (batches: AsyncIterable<PackedBatch>) => {
  let rows = 0;
  for await (const batch of batches) rows += batch.rowCount;
  return rows;
};

test.each([
  ["\n", "line feeds"],
  ["\r\n", "both"],
  ["\r", "carriage returns"],
])("empty lines are not kept in memory: %j", async (end) => {
  async function* file(): AsyncGenerator<Buffer> {
    yield Buffer.from(`a,b${end}1,2${end}`);
    for (let at = 0; at < FILE_MB; at += 1) {
      most = Math.max(most, process.memoryUsage().arrayBuffers);
      yield Buffer.alloc(MB, end);
    }
    yield Buffer.from(`3${end}`);
  }
  let most = 0;
  const batches: PackedBatch[] = [];
  for await (const batch of open(file(), "t")) batches.push(batch);
  const lines = FILE_MB * (MB / end.length) + 3;
  expect(batches.at(-1)).toMatchObject({ rejects: [{ line: lines, reason: "1 fields instead of 2" }] });
  // Buffers transferred to a thread are collected when there are about 64 MB of them.
  expect(most / MB).toBeLessThan(110);
});

test("a file of empty lines does not delay another tenant's long record", async () => {
  const { file, goOn, reached } = halted(Buffer.concat([Buffer.from("a,b\n1,2\n"), Buffer.alloc(4 * MB, "\n")]));
  const empty = rowsIn(open(file, "a"));
  await reached;
  const long = Buffer.concat([Buffer.from('a,b\n"'), Buffer.alloc(4 * MB, "x"), Buffer.from('",2\n')]);
  expect(await rowsIn(open(cut(long, 256 * KB), "b"))).toBe(1);
  goOn();
  expect(await empty).toBe(1);
});

test("many long imports of one tenant leave threads to other tenants", async () => {
  const begin = Buffer.from("a,b\n1,2\n");
  const files = Array.from({ length: 10 }, () => halted(begin));
  const held = files.map(({ file }) => rowsIn(open(file, "a")));
  expect(await rowsIn(open(cut(begin, KB), "b"))).toBe(1);
  for (const { goOn } of files) goOn();
  expect(await Promise.all(held)).toEqual(Array.from({ length: 10 }, () => 1));
});

const threads = (): number => Number(/^Threads:\s+(\d+)/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1]);
