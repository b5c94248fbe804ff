import {
  cpSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, expect, test } from "vitest";
import { environmentOf, superviseChild, waitFor } from "@/lib/testing/processes";
import { openStage } from "./stage";

const LOADS = 8;
const MARK = "second-";

const targets: string[] = [];
const balancer = await openBalancer();
const origin = `http://127.0.0.1:${(balancer.address() as AddressInfo).port}`;
const stage = await openStage({ worker: false, env: { AUTH_URL: origin } });
targets.push(stage.web.url);

/** Passes each request to the next web process, as a balancer without sticky sessions does. */
function openBalancer(): Promise<Server> {
  let turn = 0;
  const server = createServer((req, res) => {
    const target = targets[turn++ % targets.length];
    const onward = request(`${target}${req.url}`, { method: req.method, headers: req.headers }, (answer) => {
      res.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(res);
    });
    onward.on("error", () => res.destroy());
    res.on("close", () => onward.destroy());
    req.pipe(onward);
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  return new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(server)));
}

/** Creates another build of the pages: the same program with other names for all scripts and styles. */
function secondBuild(): string {
  const base = mkdtempSync(path.join(tmpdir(), "leasehold-second-build-"));
  afterAll(() => rmSync(base, { recursive: true, force: true, maxRetries: 5 }));
  for (const name of ["package.json", "next.config.ts", "tsconfig.json", "dist/test", ".next-test"]) {
    cpSync(name, path.join(base, name), { recursive: true, filter: (file) => !/[\\/]cache(?:[\\/]|$)/.test(file) });
  }
  symlinkSync(path.resolve("node_modules"), path.join(base, "node_modules"));
  const pages = path.join(base, ".next-test");
  const id = readFileSync(path.join(pages, "BUILD_ID"), "utf8").trim();
  const otherId = [...id].reverse().join("");
  renameSync(path.join(pages, "static", id), path.join(pages, "static", otherId));
  const chunks = path.join(pages, "static/chunks");
  for (const name of readdirSync(chunks)) renameSync(path.join(chunks, name), path.join(chunks, MARK + name));
  for (const name of readdirSync(pages, { recursive: true, encoding: "utf8" })) {
    const file = path.join(pages, name);
    if (!statSync(file).isFile() || !/\.(?:js|mjs|css|json|html|rsc|map)$|BUILD_ID$/.test(name)) continue;
    const text = readFileSync(file, "utf8");
    const renamed = text
      .replaceAll(/static\/chunks\/(?=[\w~.-]+\.(?:js|css))/g, `static/chunks/${MARK}`)
      .replaceAll(id, otherId);
    if (renamed !== text) writeFileSync(file, renamed);
  }
  return base;
}

test("while two builds are served behind one address, every page loads completely and its buttons work", async () => {
  const program = path.join(secondBuild(), "dist/test/web.mjs");
  const settings = environmentOf("web", stage.database, { AUTH_URL: origin, PORT: "0" });
  const second = await superviseChild(["--enable-source-maps", program], settings);
  const { page, context } = await stage.signIn(stage.people.admin, { baseURL: origin, at: "/" });
  targets.push(second.url);
  const lost: string[] = [];
  const scripts = new Set<string>();
  page.on("response", (answer) => {
    if (!answer.url().includes("/_next/static/")) return;
    if (answer.status() >= 400) lost.push(`${answer.status()} ${answer.url()}`);
    scripts.add(answer.url().includes(MARK) ? "second" : "first");
  });
  for (let load = 0; load < LOADS; load++) {
    await page.goto(`/t/${stage.acme.slug}/jobs`);
    await page.getByRole("button", { name: "New job" }).first().click();
    await page.getByRole("dialog").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("link", { name: "Triggers" }).first().click();
    await page.getByRole("heading", { level: 1, name: "Triggers" }).waitFor();
  }
  expect(lost).toEqual([]);
  expect([...scripts].sort()).toEqual(["first", "second"]);
  await context.close();
});

test("assets that no process has published for a week are deleted, and those in use stay", async () => {
  const stored = () => stage.database.query("select path from app.web_assets where path like '%' || $1 || '%'", [MARK]);
  expect((await stored()).length).toBeGreaterThan(0);
  await stage.database.query("update app.web_assets set published_at = app.now() - interval '8 days'");
  const again = await superviseChild(
    ["--enable-source-maps", path.resolve("dist/test/web.mjs")],
    environmentOf("web", stage.database, { AUTH_URL: origin, PORT: "0" }),
  );
  await waitFor(async () => (await stored()).length === 0, {
    withinMs: 60_000,
    what: "the end of the former build's assets",
  });
  const [left] = await stage.database.query("select count(*)::int as n from app.web_assets");
  expect(left?.n).toBeGreaterThan(10);
  await again.stop();
});
