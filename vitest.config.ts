import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const root = fileURLToPath(new URL(".", import.meta.url));
const exclude = ["**/node_modules/**", "dist/**", ".next/**", ".next-test/**", ".leasehold/**"];
const globalSetup = ["lib/testing/server.ts"];

export default defineConfig({
  resolve: { alias: [{ find: /^@\//, replacement: root }] },
  test: {
    pool: "forks",
    maxWorkers: 2,
    // What takes two seconds alone may take twenty beside others.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    projects: [
      {
        extends: true,
        test: { name: "unit", include: ["**/*.test.{ts,tsx}"], exclude: [...exclude, "**/*.db.test.ts", "e2e/**"] },
      },
      {
        extends: true,
        test: {
          name: "db",
          include: ["**/*.db.test.ts"],
          exclude: [...exclude, "e2e/**"],
          globalSetup,
          // Loading the engine anew for each file takes a quarter of their processor time.
          isolate: false,
        },
      },
      ...["api", "processes", "chaos", "ui"].map((name) => ({
        extends: true as const,
        test: {
          name,
          include: [`e2e/${name}/**/*.test.ts`],
          exclude,
          globalSetup,
          ...({ chaos: { testTimeout: 300_000 }, processes: { testTimeout: 180_000 }, ui: { testTimeout: 120_000 } }[
            name
          ] ?? {}),
          hookTimeout: 120_000,
          // A browser wants one of two processors, and the stages beside it the other. Those mostly wait.
          fileParallelism: name !== "ui",
          // A browser that does not answer at all says nothing about a page; whatever a page does wrong fails at once.
          ...(name === "ui" ? { retry: { count: 1, condition: /^the browser did not answer/i } } : {}),
        },
      })),
    ],
  },
});
