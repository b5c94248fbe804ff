import { once } from "node:events";
import { readdirSync } from "node:fs";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { createFront } from "./front";
import { OpenPages } from "./open-pages";
import { PAGES } from "./pages";
import type { NextHandler } from "./render-page";

const LONG = "<br>".repeat(100_000);
const rendered: string[] = [];
/** Renders as the framework does: in pieces, scripts with the nonce of the request's policy, a preload in a header. */
const handler: NextHandler = async (req, res) => {
  rendered.push(req.url ?? "");
  const nonce = /'nonce-([^']+)'/.exec(String(req.headers["content-security-policy"]))?.[1];
  await new Promise((resolve) => setImmediate(resolve));
  res.statusCode = req.url === "/_not-found" ? 404 : 200;
  res.setHeader("content-type", "text/html; charset=utf-8");
  res.setHeader("link", `</a.css>; rel=preload; nonce="${nonce}"`);
  if (!res.write(`<p>Zoë – ${req.url}</p>${LONG}`)) await once(res, "drain");
  res.write(`<script nonce="${nonce}">`);
  res.end(`self.nonce="${nonce}"</script>`);
};
const front = createFront({
  dev: false,
  origin: () => "http://localhost",
  deviceSecret: "a secret of this test",
  next: () => handler,
  log: { warn: () => {}, error: () => {} },
  hosts: { names: [], anyAddress: false },
  trustedProxies: { hops: 0 },
  maxConnections: 100,
});
await new Promise<void>((resolve) => front.server.listen(0, "127.0.0.1", resolve));
afterAll(() => front.server.close());
const { port } = front.server.address() as AddressInfo;

interface Answer {
  readonly status: number;
  readonly headers: Record<string, string | undefined>;
  readonly text: string;
}

const get = (path: string, headers: Record<string, string> = {}, method = "GET"): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const sent = request({ host: "127.0.0.1", port, path, method, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("end", () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers as Answer["headers"],
          text: Buffer.concat(chunks).toString(),
        }),
      );
    });
    sent.on("error", reject).end();
  });
const SESSION = `leasehold.session=${"A".repeat(43)}`;
const NO_SESSIONS = [
  "leasehold.session=x",
  `${SESSION}A`,
  `leasehold.session=${"*".repeat(43)}`,
  `${SESSION}; ${SESSION}`,
  `__Host-${SESSION}`,
];
const nonceOf = ({ headers }: Answer) => /'nonce-([^']+)'/.exec(headers["content-security-policy"] ?? "")?.[1] ?? "";

test("a public page is rendered once, for concurrent requests and for every form of request", async () => {
  rendered.length = 0;
  const many = await Promise.all(Array.from({ length: 20 }, () => get("/docs/api")));
  const spelled = [
    await get("/docs/api?x=1"),
    await get("/docs/api", { rsc: "1", "next-router-prefetch": "1" }),
    await get("/docs/api", { cookie: "leasehold.session=x" }),
  ];
  expect(rendered).toEqual(["/docs/api"]);
  for (const answer of [...many, ...spelled]) {
    const nonce = nonceOf(answer);
    expect(answer.status).toBe(200);
    expect(answer.text).toBe(`<p>Zoë – /docs/api</p>${LONG}<script nonce="${nonce}">self.nonce="${nonce}"</script>`);
    expect(answer.headers).toMatchObject({
      "cache-control": "private, no-store",
      "content-length": String(Buffer.byteLength(answer.text)),
      link: `</a.css>; rel=preload; nonce="${nonce}"`,
    });
  }
  expect(new Set([...many, ...spelled].map(nonceOf)).size).toBe(23);
  expect(await get("/docs/api", {}, "HEAD")).toMatchObject({ status: 200, text: "" });
});

test("answers that wait for their readers hold no copies of the page", async () => {
  const pages = new OpenPages();
  const sent: unknown[] = [];
  const server = createServer((req, res) => {
    req.headers["x-nonce"] = "n";
    const write = res.write.bind(res);
    res.write = ((part: unknown) => {
      if (part instanceof Buffer) sent.push(part);
      return write(part);
    }) as typeof res.write;
    pages.answer("/docs/api", { req, res, next: handler }).catch(() => res.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port: own } = server.address() as AddressInfo;
  for (const path of ["/1", "/2"])
    expect((await (await fetch(`http://127.0.0.1:${own}${path}`)).text()).length).toBeGreaterThan(LONG.length);
  expect(sent.length).toBeGreaterThan(1);
  expect(new Set(sent).size).toBe(sent.length / 2);
  server.close();
});

test("all paths that do not exist share one cached page", async () => {
  rendered.length = 0;
  for (const path of ["/x", "/t", "/t/acme/none", "/docs/errors/none", "/docs", "/wp-admin/setup.php"])
    expect(await get(path), path).toMatchObject({ status: 404 });
  expect(rendered).toEqual(["/_not-found"]);
});

test("the login is rendered once for visitors without a session, and for each request of others", async () => {
  rendered.length = 0;
  await get("/login");
  await get("/login?callbackUrl=%2Ft%2Facme");
  for (const cookie of NO_SESSIONS) await get("/login", { cookie });
  expect(rendered).toEqual(["/login"]);
  await get("/login", { cookie: SESSION });
  await get("/login", { cookie: SESSION });
  expect(rendered).toEqual(["/login", "/login", "/login"]);
});

test.each([
  ["/", "/"],
  ["/select-tenant", "/select-tenant"],
  ["/account/password", "/account/password"],
  ["/platform", "/platform/workers"],
  ["/platform/queues?q=1", "/platform/workers"],
  ["/t/acme", "/t/acme/jobs"],
  ["/t/acme/jobs?status=failed", "/t/acme/jobs"],
  ["/t/acme/webhooks/1", "/t/acme/jobs"],
])("%s without a session redirects to the login without rendering", async (path, back) => {
  rendered.length = 0;
  const rsc = { rsc: "1", "next-router-prefetch": "1" };
  const answers = [await get(path), await get(path, rsc), await get(path, {}, "HEAD")];
  for (const cookie of NO_SESSIONS) answers.push(await get(path, { cookie }));
  for (const { status, headers, text } of answers) {
    expect([status, text]).toEqual([307, ""]);
    expect(headers).toMatchObject({
      location: `/login?callbackUrl=${encodeURIComponent(back)}`,
      "cache-control": "private, no-store",
      "content-length": "0",
    });
  }
  expect(rendered).toEqual([]);
  expect(await get(path, { cookie: `theme=dark; ${SESSION}` })).toMatchObject({ status: 200 });
  expect(rendered).toEqual([path]);
});

test("a page that fails to render is tried again and not cached", async () => {
  const pages = new OpenPages();
  let tries = 0;
  const failing: NextHandler = async (req, res) => {
    tries += 1;
    if (tries > 4) return handler(req, res);
    res.statusCode = 500;
    res.end("no");
  };
  const server = createServer((req, res) => {
    req.headers["x-nonce"] = "n";
    pages.answer("/docs/api", { req, res, next: failing }).catch(() => res.writeHead(500).end());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port: own } = server.address() as AddressInfo;
  const statusOf = async () => (await fetch(`http://127.0.0.1:${own}/docs/api`)).status;
  expect([await statusOf(), await statusOf(), await statusOf(), await statusOf()]).toEqual([500, 500, 200, 200]);
  expect(tries).toBe(5);
  server.close();
});

test("the list of public pages equals the folder", () => {
  const onDisk = readdirSync(join(import.meta.dirname, "../../app"), { recursive: true, encoding: "utf8" })
    .filter((file) => /(?:^|\/)page\.tsx$/.test(file))
    .map((file) => `/${file.replace(/\/?page\.tsx$/, "").replace(/\([^)]*\)\/?/g, "")}`);
  expect(onDisk.sort()).toEqual([...PAGES].sort());
});
