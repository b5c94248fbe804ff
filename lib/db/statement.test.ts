import { expect, test } from "vitest";
import { statement, stemOf, withoutFence } from "./statement";

test("two texts with one name get different prepared names", () => {
  expect(statement("read_job", "select 1").name).not.toBe(statement("read_job", "select 2").name);
  expect(statement("read_job", "select 1").name).toBe(statement("read_job", "select 1").name);
});

test("a prepared name fits into the server's 63 bytes and keeps its hash", () => {
  const long = "x".repeat(100);
  const [one, two] = [statement(long, "select 1").name, statement(long, "select 2").name];
  expect(one.length).toBeLessThanOrEqual(63);
  expect(one).not.toBe(two);
});

test("the stem of a prepared name is the given name", () => {
  expect(stemOf(statement("finish_attempts", "select 1").name)).toBe("finish_attempts");
});

test("without the fence a statement accepts any lease number, and still reads it", () => {
  const text = (where: string) => `update live_jobs r set lease_no = r.lease_no + 1 ${where}`;
  expect(withoutFence(text("where r.job_id = x.job_id and r.lease_no = x.lease_no and r.state = 'running'"))).toBe(
    text("where r.job_id = x.job_id and (r.lease_no is not null or x.lease_no is not null) and r.state = 'running'"),
  );
  expect(withoutFence(text("where lease_no = $2 and job_id = $1"))).toBe(
    text("where (lease_no is not null or $2::bigint is not null) and job_id = $1"),
  );
});
