import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startNameServer } from "./name-server.fixture";
import { type Receiver, startReceiver } from "./receiver.fixture";
import { checkTarget, resolveTarget } from "./resolve";
import { post } from "./send";
import { isRefusal, readTarget } from "./target";

const publicAddresses = (count: number) => Array.from({ length: count }, (_, n) => `93.184.${n >> 8}.${n & 255}`);

let names: Awaited<ReturnType<typeof startNameServer>>;
let receiver: Receiver;
beforeAll(async () => {
  receiver = await startReceiver();
  names = await startNameServer({
    "public.example.test": [["93.184.215.14"]],
    "*.nip.io": [["127.0.0.1"]],
    "metadata.google.internal": [["169.254.169.254"]],
    "mixed.example.test": [["93.184.215.14", "10.0.0.1"]],
    "rebind.example.test": [["93.184.215.14"], ["127.0.0.1"]],
    "silent.example.test": "silence",
    "empty.example.test": [[]],
    "many.example.test": [publicAddresses(4000)],
    "some.example.test": [publicAddresses(60)],
  });
});
afterAll(async () => {
  names.close();
  await receiver.close();
});

const policy = () => ({ allowHttp: true, loopback: [], nameServers: [names.address] });
const limits = { connectMs: 3000, totalMs: 8000, responseBytes: 1024 };
const send = (url: string) =>
  post({
    tenantId: "acme",
    url,
    headers: {},
    body: "{}",
    policy: policy(),
    signal: new AbortController().signal,
    limits,
  });

/** Hosts in every spelling that reaches this machine, its network or its cloud. */
const PRIVATE = [
  "[::ffff:7f00:1]",
  "[::ffff:127.0.0.1]",
  "[::ffff:169.254.169.254]",
  "[::127.0.0.1]",
  "[::]",
  "[::1]",
  "[fd00::1]",
  "[fe80::1]",
  "[fec0::1]",
  "[ff02::1]",
  "[64:ff9b::a9fe:a9fe]",
  "[64:ff9b::7f00:1]",
  "[64:ff9b:1::7f00:1]",
  "[2002:7f00:1::]",
  "[2001:0:7f00:1::]",
  "[2001:db8::1]",
  "[100::1]",
  "2130706433",
  "0x7f000001",
  "0x7f.1",
  "0177.0.0.1",
  "017700000001",
  "127.1",
  "127.0.1",
  "127.255.255.254",
  "0",
  "0.0.0.0",
  "①②⑦.⓪.⓪.①",
  "１２７.０.０.１",
  "10.0.0.1",
  "100.64.0.1",
  "169.254.169.254",
  "172.16.0.1",
  "172.31.255.255",
  "192.0.0.1",
  "192.0.2.1",
  "192.168.1.1",
  "198.18.0.1",
  "198.51.100.1",
  "203.0.113.1",
  "224.0.0.1",
  "240.0.0.1",
  "255.255.255.255",
  "localhost",
  "LOCALHOST",
  "localhost.",
  "a.localhost",
  "printer",
  "printer.local",
  "metadata.google.internal",
  "127.0.0.1.nip.io",
  "app.10.0.0.1.nip.io",
  "mixed.example.test",
  "public.example.test.",
];

describe("WEBHOOK-01 C5 addresses that are not public", () => {
  test.each(PRIVATE)("%s is refused on save and on delivery", async (host) => {
    const urls = [`https://${host}/`, `http://${host}:8080/`];
    for (const url of urls) {
      expect(await checkTarget(url, policy()), url).toMatchObject({ code: "blocked" });
      expect((await send(url)).failed, url).toMatchObject({ code: "blocked" });
    }
    expect(receiver.connections.opened).toBe(0);
  });

  test.each([
    "https://[fe80::1%25eth0]/",
    "https://[::1]bad/",
    "https://",
    "https:///x",
    "mailto:a@b.c",
    "https://a b.test/",
  ])("%s is not a valid address", async (url) => {
    expect(await checkTarget(url, policy())).not.toBeNull();
    expect((await send(url)).failed).toMatchObject({ code: "blocked" });
  });

  test("a public name and a public address are accepted", async () => {
    for (const host of ["public.example.test", "93.184.215.14", "[2606:2800:21f:cb07::1]", "PUBLIC.example.TEST"]) {
      expect(await checkTarget(`https://${host}/in`, policy())).toBeNull();
      expect(await checkTarget(`https://${host}:8443/in?x=1`, policy())).toBeNull();
    }
  });

  test("a name whose server does not answer is refused", async () => {
    expect(await checkTarget("https://silent.example.test/", policy())).toMatchObject({ code: "dns" });
  });

  test.each(["nowhere.example.test", "empty.example.test"])(
    "%s cannot be resolved, so it is refused on save and on delivery",
    async (host) => {
      expect(await checkTarget(`https://${host}/`, policy())).toMatchObject({ code: "dns" });
      expect((await send(`https://${host}/`)).failed).toMatchObject({ code: "dns" });
    },
  );

  test("a name with thousands of addresses is refused on save and on delivery", async () => {
    const detail = "the host name has more addresses than a DNS answer of 1232 bytes can hold";
    expect(await checkTarget("https://many.example.test/", policy())).toEqual({ code: "dns", detail });
    const { failed } = await send("https://many.example.test/");
    expect(failed).toEqual({ code: "dns", detail: `the URL: ${detail}` });
  });

  test("a delivery tries four addresses of a family", async () => {
    const target = readTarget("https://some.example.test/", policy());
    const addresses = isRefusal(target) ? target : await resolveTarget(target, policy());
    expect(addresses).toEqual(publicAddresses(4).map((address) => ({ address, family: 4 })));
  });

  test("a name that was public on save and is not on delivery is refused", async () => {
    expect(await checkTarget("https://rebind.example.test/", policy())).toBeNull();
    expect((await send("https://rebind.example.test/")).failed).toMatchObject({ code: "blocked" });
    expect(receiver.connections.opened).toBe(0);
  });
});

describe("WH-2 requirements for a URL", () => {
  test.each([
    ["http://public.example.test/", "scheme"],
    ["ftp://public.example.test/", "scheme"],
    ["file:///etc/passwd", "scheme"],
    ["https://public.example.test:22/", "port"],
    ["https://public.example.test:80/", "port"],
    ["https://user@public.example.test/", "credentials"],
    ["https://user:secret@public.example.test/", "credentials"],
    ["https://public.example.test/#part", "url"],
    ["https://public.example.test/a\nb", "url"],
    ["not a url", "url"],
  ])("%j is refused: %s", async (url, code) => {
    expect(await checkTarget(url, { allowHttp: false, loopback: [] })).toMatchObject({ code });
  });

  test("this machine can be reached only at the addresses that the installation lists", async () => {
    const { port, url } = receiver;
    const at = (loopback: string[]) => ({ allowHttp: false, loopback });
    expect(await checkTarget(url, at([`127.0.0.1:${port}`]))).toBeNull();
    expect(await checkTarget(url, at(["127.0.0.1:*"]))).toBeNull();
    expect(await checkTarget(`http://127.1:${port}/`, at(["127.0.0.1:*"]))).toBeNull();
    expect(await checkTarget(url, at([`127.0.0.1:${port + 1}`]))).not.toBeNull();
    expect(await checkTarget(`http://127.0.0.2:${port}/`, at(["127.0.0.1:*"]))).not.toBeNull();
    expect(await checkTarget("https://10.0.0.1/", at(["127.0.0.1:*"]))).toMatchObject({ code: "blocked" });
  });
});
