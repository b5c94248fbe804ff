import { expect, test } from "vitest";
import { trustedProxies } from "@/lib/env/trusted-proxies";
import { canonicalAddress, clientFinder } from "./client-address";

const find = (setting: string | undefined, peer: string, forwarded?: string) =>
  clientFinder(trustedProxies.parse(setting))(peer, forwarded);

test.each([
  ["nothing is trusted by default", undefined, "10.0.0.1", "6.6.6.6", "10.0.0.1"],
  ["one hop takes the last entry", "1", "10.0.0.1", "6.6.6.6, 203.0.113.9", "203.0.113.9"],
  ["two hops take the one before it", "2", "10.0.0.1", "6.6.6.6, 203.0.113.9, 10.0.0.2", "203.0.113.9"],
  ["fewer entries than hops end at the first", "3", "10.0.0.1", "203.0.113.9", "203.0.113.9"],
  ["a hop without the header is the client", "1", "203.0.113.9", undefined, "203.0.113.9"],
  ["networks are walked past", "10.0.0.0/8, fd00::/8", "10.0.0.1", "6.6.6.6, 203.0.113.9, fd00::2", "203.0.113.9"],
  ["a peer outside the networks is the client", "10.0.0.0/8", "203.0.113.9", "6.6.6.6", "203.0.113.9"],
  ["a single address is a network of one", "10.0.0.1", "10.0.0.1", "203.0.113.9, 10.0.0.2", "10.0.0.2"],
  ["a chain of proxies alone ends at its first", "10.0.0.0/8", "10.0.0.1", "10.0.0.3, 10.0.0.2", "10.0.0.3"],
  ["text that is no address ends the walk", "10.0.0.0/8", "10.0.0.1", "6.6.6.6, unknown, 10.0.0.2", "10.0.0.2"],
  ["an empty header changes nothing", "1", "10.0.0.1", "", "10.0.0.1"],
  ["ports are dropped", "2", "10.0.0.1", "[2001:db8::1]:4711, 10.0.0.2:80", "2001:db8::1"],
  ["IPv4 within IPv6 matches its network", "127.0.0.0/8", "::ffff:127.0.0.1", "203.0.113.9", "203.0.113.9"],
] as const)("%s", (...[, setting, peer, forwarded, client]) => {
  expect(find(setting, peer, forwarded)).toBe(client);
});

test.each(["11", "-1", "10.0.0.0/33", "10.0.0.0/", "fe80::1%eth0", "proxy.example.com", "10.0.0.1,", "10.0.0.0/8/8"])(
  "TRUSTED_PROXIES of %s is refused",
  (text) => {
    expect(trustedProxies.safeParse(text).success).toBe(false);
  },
);

test("an address has one spelling", () => {
  expect(
    ["::FFFF:7f00:1", "2001:DB8:0::0001", "fe80::1%eth0", "127.0.0.1", "x", "1.2.3"].map(canonicalAddress),
  ).toEqual(["127.0.0.1", "2001:db8::1", "fe80::1", "127.0.0.1", null, null]);
});
