import dns from "node:dns/promises";
import net from "node:net";
import { expect, test } from "vitest";
import { statement } from "@/lib/db";
import { testDatabase } from "@/lib/testing/database";
import { makeFactory } from "@/lib/testing/rows/factories";
import { whenDone } from "@/lib/testing/when-done";
import { guardTransactions } from "./network-guard";

const database = await testDatabase();
const make = makeFactory(database);
whenDone(() => make.close());
const one = statement("guard_one", "select 1 as one");

test("connecting, requests and name lookups throw inside a transaction of a guarded process, and only there", async () => {
  const undo = guardTransactions();
  whenDone(undo);
  const waits = {
    fetch: async () => void (await fetch("http://127.0.0.1:1/")),
    connect: async () => void net.connect(1, "127.0.0.1").on("error", () => undefined),
    lookup: async () => void (await dns.lookup("localhost")),
    resolve4: async () => void (await new dns.Resolver().resolve4("localhost")),
  };
  for (const [name, wait] of Object.entries(waits)) {
    const inside = make.web.transaction(async (tx) => {
      await tx.run(one);
      await wait();
    });
    await expect(inside, name).rejects.toThrow(`${name} inside a transaction`);
    const outside = await wait().catch((error: Error) => error.message);
    expect(`${outside}`, name).not.toMatch(/inside a transaction/);
  }
});

test("another pool can connect during a transaction, and work that outlives its transaction is not guarded", async () => {
  const undo = guardTransactions();
  whenDone(undo);
  const fresh = makeFactory(database);
  whenDone(() => fresh.close());
  let end: () => void = () => undefined;
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  let later: Promise<unknown> | undefined;
  const rows = await make.web.transaction(async () => {
    later = ended.then(() => dns.lookup("localhost"));
    return Promise.all(Array.from({ length: 8 }, () => fresh.web.run(one)));
  });
  end();
  expect(rows).toHaveLength(8);
  await expect(later).resolves.toBeDefined();
});
