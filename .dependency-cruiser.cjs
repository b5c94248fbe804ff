// Who may import whom. lib/testing/import-rules.test.ts plants a violation of each rule.
const TEST = "\\.(test|fixture)\\.tsx?$";
const SQL_LIBRARIES = "node_modules/(pg|drizzle-orm)/";
const NEXT_AND_REACT = "node_modules/(next|next-auth|react|react-dom)/";
const QUEUE_TYPES = "^lib/queue/(types|states|error-classes)\\.ts$";

/** @type {import("dependency-cruiser").IForbiddenRuleType[]} */
const forbidden = [
  { name: "no-cycles", from: {}, to: { circular: true } },
  {
    name: "queue-is-transport-free",
    from: { path: "^lib/queue/", pathNot: TEST },
    to: {
      path: `^(app|components|worker|scheduler|e2e)/|^lib/(api|auth|client|contract|process|env|testing)/|${NEXT_AND_REACT}`,
    },
  },
  {
    name: "policy-is-pure",
    from: { path: "^lib/queue/(policy/|(states|error-classes)\\.ts)", pathNot: TEST },
    to: {
      path: `^(lib/db|drizzle|lib/queue/(sql|operations|queries))/|${SQL_LIBRARIES}|^(node:)?(fs|net|http|https|timers)`,
    },
  },
  {
    name: "sql-only-in-sql",
    from: {
      pathNot: `^(lib/db|lib/auth|lib/tenancy|lib/queue/(sql|queries)|jobs|lib/testing|drizzle|e2e)/|${TEST}|^node_modules/`,
    },
    to: { path: `${SQL_LIBRARIES}|^drizzle/` },
  },
  {
    name: "queue-via-index",
    from: { pathNot: "^lib/(queue|testing)/" },
    to: { path: "^lib/queue/", pathNot: "^lib/queue/(index|types|states|error-classes)\\.ts$" },
  },
  {
    name: "processes-are-headless",
    from: { path: "^(worker|scheduler)/", pathNot: TEST },
    to: { path: `^(app|components)/|^lib/(api|auth|client)/|${NEXT_AND_REACT}` },
  },
  {
    name: "worker-scheduler-apart",
    from: { path: "^(worker|scheduler)/" },
    to: { path: "^(worker|scheduler)/", pathNot: "^$1/" },
  },
  {
    name: "components-are-client-safe",
    from: { path: "^(components|lib/client)/", pathNot: TEST },
    to: {
      path: "^(app|worker|scheduler|drizzle)/|^lib/(db|queue|auth|api|env|process|tenancy)/",
      pathNot: QUEUE_TYPES,
    },
  },
  {
    // The contract is made of zod schemas, 41 kB of a page. Pages need its types, and values of its files without zod.
    name: "no-zod-in-pages",
    from: { path: "^(components|lib/client)/", pathNot: TEST },
    to: {
      path: "^lib/contract/|node_modules/zod/",
      pathNot: "^lib/contract/(limits|scan-json|background)\\.ts$",
      dependencyTypesNot: ["type-only"],
    },
  },
  {
    name: "lib-never-imports-app",
    from: { path: "^lib/", pathNot: TEST },
    to: { path: "^(app|components|worker|scheduler|e2e)/" },
  },
  {
    name: "app-has-no-database",
    from: { path: "^app/", pathNot: TEST },
    to: { path: "^lib/db/|^lib/env/(worker|scheduler)\\.ts$" },
  },
  {
    name: "contract-is-leaf",
    from: { path: "^lib/contract/", pathNot: TEST },
    to: {
      path: "^(app|components|worker|scheduler|e2e|lib|drizzle|jobs)/",
      pathNot: `^lib/(contract|text)/|${QUEUE_TYPES}`,
    },
  },
  {
    name: "schema-is-leaf",
    from: { path: "^drizzle/schema/", pathNot: TEST },
    to: { pathNot: "^drizzle/schema/|node_modules/drizzle-orm/" },
  },
  {
    name: "testing-only-from-tests",
    from: { pathNot: `^(lib/testing|e2e)/|${TEST}|^vitest\\.config\\.ts$` },
    to: { path: "^(lib/testing|e2e)/" },
  },
];

/** @type {import("dependency-cruiser").IConfiguration} */
module.exports = {
  forbidden: forbidden.map((rule) => ({ ...rule, severity: "error" })),
  options: {
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
    doNotFollow: { path: "node_modules" },
    exclude: { path: "^(dist|\\.next|\\.next-test|\\.leasehold)/" },
    enhancedResolveOptions: {
      exportsFields: ["exports"],
      conditionNames: ["import", "require", "node", "default", "types"],
    },
  },
};
