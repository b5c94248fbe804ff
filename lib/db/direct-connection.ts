import { randomUUID } from "node:crypto";
import pg from "pg";
import { toDatabaseError } from "./errors";
import { endWithin } from "./listen";

const ROUNDS = 5;
const HEARD_WITHIN_MS = 5000;
const CONNECT_TIMEOUT_MS = 5000;
const ANSWER_TIMEOUT_MS = 4000;
const CHANNEL = "leasehold_probe";

/**
 * Returns true if session locks and LISTEN survive between transactions on connections to `url`. Behind a pooler in
 * transaction mode they do not, because each transaction may run on another server connection.
 * @throws DatabaseError when the server does not answer
 */
export async function keepsSessions(url: string): Promise<boolean> {
  const open = () => {
    const client = new pg.Client({
      connectionString: url,
      application_name: "leasehold probe",
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      query_timeout: ANSWER_TIMEOUT_MS,
    });
    client.on("error", () => {});
    return client;
  };
  const session = open();
  const other = open();
  try {
    await Promise.all([session.connect(), other.connect()]);
    if (await sharesServer(session, other)) return false;
    // A server reports its own process id when a client connects; a pooler makes one up.
    if ((await serverOf(session)) === (session as unknown as { processID: number }).processID) return true;
    return await hears(session, other);
  } catch (error) {
    throw toDatabaseError(error);
  } finally {
    await Promise.all([endWithin(session, 500), endWithin(other, 500)]);
  }
}

/**
 * An open transaction of a second client occupies a server connection. Behind a pooler, the two clients then share one
 * server connection, or the first client moves to another.
 */
async function sharesServer(session: pg.Client, other: pg.Client): Promise<boolean> {
  const own = await serverOf(session);
  for (let round = 0; round < ROUNDS; round += 1) {
    await other.query("begin");
    const servers = [await serverOf(other), await serverOf(session)];
    await other.query("commit");
    if (servers[0] === own || servers[1] !== own) return true;
  }
  return false;
}

async function serverOf(client: pg.Client): Promise<number | undefined> {
  return (await client.query<{ pid: number }>("select pg_backend_pid() as pid")).rows[0]?.pid;
}

async function hears(session: pg.Client, other: pg.Client): Promise<boolean> {
  const word = randomUUID();
  let timer: NodeJS.Timeout | undefined;
  const heard = new Promise<boolean>((resolve) => {
    timer = setTimeout(resolve, HEARD_WITHIN_MS, false);
    session.on("notification", ({ payload }) => payload === word && resolve(true));
  });
  try {
    await session.query(`listen ${CHANNEL}`);
    await other.query("select pg_notify($1, $2)", [CHANNEL, word]);
    return await heard;
  } finally {
    clearTimeout(timer);
  }
}
