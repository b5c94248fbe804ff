import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const root = fileURLToPath(new URL(".", import.meta.url));
const exclude = ["**/node_modules/**", "dist/**", ".next/**", ".next-test/**", ".leasehold/**"];
const globalSetup = ["lib/testing/server.ts"];
/** Time limits of one test with processes or pages: a test of twenty seconds may take minutes on a busy machine. */
const TEST_LIMITS_MS = { api: 60_000, processes: 180_000, chaos: 300_000, ui: 240_000 };

export default defineConfig({
  resolve: { alias: [{ find: /^@\//, replacement: root }] },
  test: {
    pool: "forks",
    maxWorkers: 2,
    // A test of two seconds may take twenty on a busy machine.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    projects: [
      {
        extends: true,
        test: {
          name: "unit",
          include: ["**/*.test.{ts,tsx}"],
          exclude: [...exclude, "**/*.db.test.ts", "e2e/**"],
          // Some of them measure memory, so each file has a process of its own.
          isolate: true,
        },
      },
      {
        extends: true,
        test: {
          name: "db",
          include: ["**/*.db.test.ts"],
          exclude: [...exclude, "e2e/**"],
          globalSetup,
          // Loading the engine again for each file takes a quarter of their processor time.
          isolate: false,
        },
      },
      ...Object.entries(TEST_LIMITS_MS).map(([name, testTimeout]) => ({
        extends: true as const,
        test: {
          name,
          include: [`e2e/${name}/**/*.test.ts`],
          exclude,
          globalSetup,
          setupFiles: ["lib/testing/processes.setup.ts"],
          // As above; the choices of a fault suite follow from the seeds that were drawn before.
          isolate: name === "chaos",
          testTimeout,
          hookTimeout: 240_000,
          // A browser uses one of two processors, and the other stages use the other one. They mostly wait.
          fileParallelism: name !== "ui",
          // A retry is only for a browser that does not answer. An error of a page fails at once.
          ...(name === "ui" ? { retry: { count: 1, condition: /^the browser did not answer/i } } : {}),
        },
      })),
    ],
  },
});
