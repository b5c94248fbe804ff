import { customType, pgSchema } from "drizzle-orm/pg-core";

/** The schema of every table. The migrations are the truth; these files mirror them, and a test compares both. */
export const app = pgSchema("app");

export const int8multirange = customType<{ data: string }>({ dataType: () => "int8multirange" });
export const bytea = customType<{ data: Buffer; driverData: Buffer }>({ dataType: () => "bytea" });
