import { expect, test } from "vitest";
import type { AuditEntry } from "./audit";
import { CountedAudit } from "./counted-audit";

function recorder() {
  const lines: AuditEntry[] = [];
  const audit = new CountedAudit(
    async (entry) => void lines.push(entry),
    (error) => {
      throw error;
    },
  );
  return { lines, audit };
}

const denial = (fields: Partial<AuditEntry> = {}): AuditEntry => ({
  actorKind: "anonymous",
  action: "api_key.rejected",
  success: false,
  ip: "192.0.2.1",
  ...fields,
});
const repeated = (lines: readonly AuditEntry[]) =>
  lines.map(({ ip, actorId, detail }) => [ip ?? actorId, detail?.repeated]);

test("equal denials of one minute write two rows: the first at once, and the count of the others", async () => {
  const { lines, audit } = recorder();
  for (let i = 0; i < 500; i += 1) await audit.add(denial({ requestId: `request-${i}` }));
  expect(lines).toMatchObject([{ requestId: "request-0" }]);
  await audit.flush();
  expect(repeated(lines)).toEqual([
    ["192.0.2.1", undefined],
    ["192.0.2.1", 499],
  ]);
  await audit.add(denial());
  await audit.flush();
  expect(lines).toHaveLength(3);
});

test("denials of one /64 are equal; those of another key, reason or tenant are not", async () => {
  const { lines, audit } = recorder();
  for (const ip of ["2001:db8::1", "2001:db8::2"]) await audit.add(denial({ ip }));
  expect(lines).toHaveLength(1);
  for (const actorId of ["one", "two"])
    for (const reason of ["jobs:read", "jobs:write"])
      await audit.add(denial({ actorKind: "api_key", actorId, reason, action: "access.denied" }));
  expect(lines).toHaveLength(5);
});

test("a minute writes at most 202 rows for one action, for any number of addresses, and counts every denial", async () => {
  const { lines, audit } = recorder();
  for (let i = 0; i < 3000; i += 1) await audit.add(denial({ ip: `198.51.${i >> 8}.${i & 255}` }));
  for (let i = 0; i < 1000; i += 1) await audit.add(denial({ ip: `198.51.0.${i % 100}` }));
  await audit.flush();
  expect(lines.length).toBeLessThanOrEqual(202);
  const counted = lines.reduce((sum, { detail }) => sum + Number(detail?.repeated ?? 1), 0);
  expect(counted).toBe(4000);
});
