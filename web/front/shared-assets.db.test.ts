import { afterAll, expect, test } from "vitest";
import { testDatabase } from "@/lib/testing/database";
import { makeFactory } from "@/lib/testing/rows/factories";
import { SharedAssets } from "./shared-assets";

const database = await testDatabase();
const { web, close } = makeFactory(database);
afterAll(close);

const publish = (name: string, bytes: number) =>
  database.query("insert into app.web_assets (path, media_type, body) values ($1, 'text/css', $2)", [
    name,
    Buffer.alloc(bytes),
  ]);
const A = "/_next/static/a.css";
const B = "/_next/static/b.css";
const C = "/_next/static/c.css";
const D = "/_next/static/d.css";

test("requests for an asset of another build share one copy, also later ones", async () => {
  const assets = new SharedAssets(web);
  expect(await assets.find(A)).toBe(null);
  await publish(A, 100_000);
  const found = await Promise.all(Array.from({ length: 20 }, () => assets.find(A)));
  expect(found[0]?.body).toHaveLength(100_000);
  expect(new Set([...found, await assets.find(A)]).size).toBe(1);
});

test("the assets that are kept have at most 32 MiB", async () => {
  const assets = new SharedAssets(web);
  const size = 14 * 1024 * 1024;
  for (const name of [B, C, D]) await publish(name, size);
  const first = await assets.find(B);
  await assets.find(C);
  // Comparing the files themselves would fill the memory.
  expect((await assets.find(B)) === first).toBe(true);
  await assets.find(D);
  expect((await assets.find(B)) === first).toBe(false);
});
