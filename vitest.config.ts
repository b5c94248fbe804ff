import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const root = fileURLToPath(new URL(".", import.meta.url));
const resolve = { alias: [{ find: /^@\//, replacement: root }] };
const outside = ["**/node_modules/**", "dist/**", ".next/**", ".leasehold/**"];
const globalSetup = ["lib/testing/server.ts"];

export default defineConfig({
  resolve,
  test: {
    pool: "forks",
    maxWorkers: 2,
    testTimeout: 20_000,
    hookTimeout: 60_000,
    projects: [
      {
        resolve,
        test: { name: "unit", include: ["**/*.test.{ts,tsx}"], exclude: [...outside, "**/*.db.test.ts", "e2e/**"] },
      },
      { resolve, test: { name: "db", include: ["**/*.db.test.ts"], exclude: [...outside, "e2e/**"], globalSetup } },
      ...["api", "processes", "ui"].map((name) => ({
        resolve,
        test: {
          name,
          include: [`e2e/${name}/**/*.test.ts`],
          exclude: outside,
          globalSetup,
          testTimeout: 60_000,
          hookTimeout: 120_000,
          fileParallelism: false,
        },
      })),
    ],
  },
});
