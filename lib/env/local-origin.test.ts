import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { localOrigin } from "./local-origin.mjs";

test.each([
  ["127.0.0.1", "http://127.0.0.1:3500"],
  ["localhost", "http://localhost:3500"],
  ["0.0.0.0", "http://127.0.0.1:3500"],
  ["::", "http://[::1]:3500"],
  ["::1", "http://[::1]:3500"],
  ["[::1]", "http://[::1]:3500"],
  ["leasehold.internal", "http://leasehold.internal:3500"],
  ["0:0:0:0:0:0:0:1", "http://[::1]:3500"],
])("a listener on %s is shown as %s", (host, origin) => {
  expect(localOrigin(host, 3500)).toBe(origin);
});

test.each(["127.0.0.1", "localhost", "0.0.0.0", "::", "::1"])(
  "the origin of a listener on %s answers",
  async (host) => {
    const server = createServer((_, response) => response.end("here"));
    await new Promise<void>((resolve) => server.listen(0, host, resolve));
    const answer = await fetch(localOrigin(host, (server.address() as AddressInfo).port));
    expect(await answer.text()).toBe("here");
    server.close();
  },
);
