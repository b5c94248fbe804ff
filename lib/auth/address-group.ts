/**
 * Returns the group that counts as one address for limits: an IPv4 address, or the /64 of an IPv6 address, because one
 * host gets a whole /64. Expects the canonical spelling, as written by the front.
 */
export function addressGroup(address: string | null): string {
  if (address === null) return "unknown";
  return address.includes(":") ? prefixOf(address, 4) : address;
}

/** Returns the network that addresses of one owner usually share: /24 of IPv4, /48 of IPv6. */
export function networkOf(address: string | null): string {
  if (address === null) return "unknown";
  return address.includes(":") ? prefixOf(address, 3) : `${address.split(".").slice(0, 3).join(".")}.0/24`;
}

function prefixOf(address: string, groups: number): string {
  const [left = "", right] = address.split("::");
  const before = left === "" ? [] : left.split(":");
  const after = right ? right.split(":") : [];
  const zeros = right === undefined ? 0 : 8 - before.length - after.length;
  return `${[...before, ...Array<string>(zeros).fill("0"), ...after].slice(0, groups).join(":")}::/${groups * 16}`;
}
