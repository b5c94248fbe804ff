import { type Database, openDatabase } from "@/lib/db";
import { createLogger } from "@/lib/observability/log";
import { testDatabase } from "@/lib/testing/database";
import { makeFactory } from "@/lib/testing/rows/factories";
import { whenDone } from "@/lib/testing/when-done";

/** A database, the context of a scheduler's turn, and pending events. */
export async function turnsFixture() {
  const database = await testDatabase();
  const make = makeFactory(database);
  whenDone(() => make.close());
  const surroundings = {
    db: make.scheduler,
    web: make.web,
    leader: { leaderId: "the-leader", term: 1 },
    log: createLogger({ process: "scheduler", level: "silent", format: "json" }),
    random: () => 0.5,
    inTerm: (make.scheduler as Database).transaction.bind(make.scheduler),
  };
  return {
    database,
    make,
    surroundings,
    pendingEvent: (tenantId: string) =>
      database.query(
        `insert into app.events (tenant_id, name, data, source, correlation_id, actor_kind, status)
         values ($1, 'thing.happened', '{}', 'app', 'c', 'system', 'pending')`,
        [tenantId],
      ),
    statusOf: (tenantId: string) =>
      database.query("select status, tries, reason from app.events where tenant_id = $1", [tenantId]),
    /** Opens a new pool, whose connections have the current settings. */
    openWeb: (): Database => {
      const url = database.urlFor("web");
      const db = openDatabase({ prepare: true, url, role: "web", max: 2, applicationName: "test" });
      whenDone(() => db.close());
      return db;
    },
  };
}
