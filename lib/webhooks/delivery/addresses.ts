import { BlockList, isIPv4, isIPv6 } from "node:net";

// Networks that IANA's special-purpose registries do not list as globally reachable.
const PRIVATE_V4 = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 3],
] as const;

// For IPv6, only the space allocated to the public, less tunnels to IPv4, documentation and benchmarks. So embedded
// IPv4 addresses (::ffff:0:0/96, 64:ff9b::/96) are refused in every spelling.
const PUBLIC_V6 = ["2000::", 3] as const;
const PRIVATE_V6 = [
  ["2001::", 23],
  ["2001:db8::", 32],
  ["2002::", 16],
  ["3fff::", 20],
] as const;

const closedV4 = new BlockList();
for (const [net, prefix] of PRIVATE_V4) closedV4.addSubnet(net, prefix, "ipv4");
const openV6 = new BlockList();
openV6.addSubnet(...PUBLIC_V6, "ipv6");
const closedV6 = new BlockList();
for (const [net, prefix] of PRIVATE_V6) closedV6.addSubnet(net, prefix, "ipv6");

/** True if an address belongs to the public internet; false for anything but a plain IPv4 or IPv6 address. */
export function isPublicAddress(address: string): boolean {
  if (isIPv4(address)) return !closedV4.check(address, "ipv4");
  return isIPv6(address) && openV6.check(address, "ipv6") && !closedV6.check(address, "ipv6");
}
