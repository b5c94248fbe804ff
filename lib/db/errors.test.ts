import { describe, expect, test } from "vitest";
import { DatabaseError, toAcquireError, toDatabaseError } from "./errors";

const failed = (code: string, message = "words with 'a value'") =>
  toDatabaseError(Object.assign(new Error(message), { code }));

describe("PG-4 the SQLSTATE determines the kind of an error", () => {
  test.each([
    ["23505", "conflict"],
    ["23503", "conflict"],
    ["23514", "invalid"],
    ["23502", "invalid"],
    ["22P02", "invalid"],
    ["22P05", "invalid"],
    ["22021", "invalid"],
    ["22003", "invalid"],
    ["22007", "invalid"],
    ["22008", "invalid"],
    ["42501", "forbidden"],
    ["40001", "retryable"],
    ["40P01", "retryable"],
    ["57014", "timeout"],
    ["55P03", "timeout"],
    ["57P01", "unavailable"],
    ["57P03", "unavailable"],
    ["08006", "unavailable"],
    ["53300", "unavailable"],
    ["25006", "unavailable"],
    ["42P01", "other"],
    ["XX000", "other"],
    ["LH001", "other"],
  ])("%s is %s", (code, kind) => {
    expect(failed(code).kind).toBe(kind);
  });

  test.each(["ECONNRESET", "ECONNREFUSED", "EPIPE", "ETIMEDOUT", "ENOTFOUND"])("%s is unavailable", (code) => {
    expect(failed(code)).toMatchObject({ kind: "unavailable", connectionLost: true, undone: false });
  });
});

test("the codes of the application's own RAISE statements become error codes", () => {
  expect(failed("LH002").code).toBe("LH002");
  expect(failed("23505").code).toBeUndefined();
});

test("neither message, enumerable fields nor stack contain the server's message", () => {
  const error = failed("22P02", 'invalid input syntax for type uuid: "secret"');
  expect(`${error.message}${JSON.stringify(error)}${error.stack}`).not.toContain("secret");
  expect(error.serverMessage).toContain("secret");
});

test("a connection is closed after fatal codes and kept after others", () => {
  for (const code of ["25006", "57P01", "57P05", "25P03", "08006"])
    expect(failed(code).connectionLost, code).toBe(true);
  for (const code of ["23505", "40001", "57014", "42501", "LH001"])
    expect(failed(code).connectionLost, code).toBe(false);
});

test("a failure to acquire a connection is unavailable and undone, with any code", () => {
  expect(toAcquireError(Object.assign(new Error("no such database"), { code: "3D000" }))).toMatchObject({
    kind: "unavailable",
    sqlState: "3D000",
    undone: true,
  });
});

test("a DatabaseError is returned unchanged", () => {
  const error = new DatabaseError({ kind: "conflict" });
  expect(toDatabaseError(error)).toBe(error);
});
