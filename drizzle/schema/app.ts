import { customType, pgSchema } from "drizzle-orm/pg-core";

/**
 * The schema of every table. Keys are column names, so a row has the names that the API answers. The migrations are the
 * truth; these files mirror them, and a test compares both.
 */
export const app = pgSchema("app");

export const int8multirange = customType<{ data: string }>({ dataType: () => "int8multirange" });
export const bytea = customType<{ data: Buffer; driverData: Buffer }>({ dataType: () => "bytea" });

/** A timestamptz, read as an RFC 3339 instant in UTC with milliseconds, as the API answers it. */
export const instantColumn = customType<{ data: string; driverData: string | Date }>({
  dataType: () => "timestamp with time zone",
  fromDriver: (value) => new Date(value).toISOString(),
});
