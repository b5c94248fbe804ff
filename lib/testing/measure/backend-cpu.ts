import { readFileSync } from "node:fs";
import { type Database, statement } from "@/lib/db";

const PID = statement("pid_of_backend", "select pg_backend_pid() as pid");

/**
 * Returns the processor time in milliseconds, in steps of 10, that a run takes in the backend of a database with one
 * connection. Other processes on the machine do not change it.
 */
export async function backendCpuOf(db: Database, run: () => Promise<unknown>): Promise<number> {
  const [row] = await db.run<{ pid: number }>(PID);
  const read = () => {
    // The fields after the program's name, which may contain spaces.
    const fields = (readFileSync(`/proc/${row?.pid}/stat`, "latin1").split(") ").at(-1) ?? "").split(" ");
    return (Number(fields[11]) + Number(fields[12])) * 10;
  };
  const before = read();
  await run();
  return read() - before;
}
