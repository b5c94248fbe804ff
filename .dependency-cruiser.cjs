// Who may import whom. lib/testing/import-rules.test.ts plants a violation of each rule.
const TEST = "\\.(test|fixture)\\.tsx?$";
const SQL_LIBRARIES = "node_modules/(pg|drizzle-orm)/";
const NEXT_AND_REACT = "node_modules/(next|next-auth|react|react-dom)/";
/** What every part may know of the queue. */
const QUEUE_TYPES = "^lib/queue/(types|actions/types|states|error-classes)\\.ts$";
const REMOTE_ROUTES = "^(lib/api/remote|app/api/v1/worker)/|^web/live/(work-hub|work-source|long-poll)\\.ts$";
/** Tests, and what only tests and benchmarks use. */
const FOR_TESTS = `^(lib/testing|e2e|bench)/|${TEST}`;

/** @type {import("dependency-cruiser").IForbiddenRuleType[]} */
const forbidden = [
  { name: "no-cycles", from: {}, to: { circular: true } },
  {
    name: "queue-is-transport-free",
    from: { path: "^lib/queue/", pathNot: TEST },
    to: {
      path: `^(app|components|web|worker|scheduler|admin|e2e)/|^lib/(api|auth|client|contract|process|env|testing)/|${NEXT_AND_REACT}`,
    },
  },
  {
    name: "policy-is-pure",
    from: { path: "\\.policy\\.ts$|^lib/queue/(states|error-classes)\\.ts$", pathNot: TEST },
    to: {
      path: `^(lib/db|drizzle)/|\\.(sql|drizzle)\\.ts$|${SQL_LIBRARIES}|^(node:)?(fs|net|http|https|timers)`,
    },
  },
  {
    name: "policy-is-pure",
    from: { path: "\\.policy\\.ts$|^lib/queue/(states|error-classes)\\.ts$", pathNot: TEST },
    to: {
      path: "^lib/queue/",
      pathNot: "\\.policy\\.ts$|/(types|states|errors|error-classes)\\.ts$|^lib/queue/schedules/rules/index\\.ts$",
    },
  },
  {
    name: "sql-only-in-sql",
    from: {
      pathNot: `^(lib/db|lib/auth|lib/tenancy|lib/inventory|lib/webhooks|jobs|lib/testing|drizzle|e2e)/|\\.(sql|drizzle)\\.ts$|${TEST}|^node_modules/`,
    },
    to: { path: `${SQL_LIBRARIES}|^drizzle/` },
  },
  {
    // Each part of the product has a door of its own into the queue, so that what it may do is on one page.
    name: "queue-by-its-doors",
    from: { pathNot: `^lib/queue/|${FOR_TESTS}|${REMOTE_ROUTES}|^(worker|scheduler)/` },
    to: { path: "^lib/queue/", pathNot: `${QUEUE_TYPES}|^lib/queue/index\\.ts$` },
  },
  {
    name: "queue-by-its-doors",
    from: { path: "^(worker|scheduler)/", pathNot: TEST },
    to: { path: "^lib/queue/", pathNot: [QUEUE_TYPES, "^lib/queue/$1\\.ts$"] },
  },
  {
    name: "queue-by-its-doors",
    from: { path: REMOTE_ROUTES, pathNot: TEST },
    to: { path: "^lib/queue/", pathNot: `${QUEUE_TYPES}|^lib/queue/remote\\.ts$` },
  },
  {
    name: "queue-by-its-doors",
    from: { pathNot: FOR_TESTS },
    to: { path: "^lib/queue/testing\\.ts$" },
  },
  {
    name: "processes-are-headless",
    from: { path: "^(worker|scheduler)/", pathNot: TEST },
    to: { path: `^(app|components|web|admin)/|^lib/(api|auth|client)/|${NEXT_AND_REACT}` },
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
      path: "^(app|web|worker|scheduler|admin|drizzle)/|^lib/(db|queue|auth|api|env|process|tenancy|inventory|webhooks)/",
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
    // web/live is the exception: routes that wait for news get it from there.
    name: "lib-never-imports-app",
    from: { path: "^lib/", pathNot: TEST },
    to: { path: "^(app|components|worker|scheduler|admin|e2e)/|^web/(main\\.ts|front/)" },
  },
  {
    name: "app-has-no-database",
    from: { path: "^app/", pathNot: TEST },
    to: { path: "^lib/db/|^lib/env/(worker|scheduler)\\.ts$|^web/(main\\.ts|front/)" },
  },
  {
    name: "contract-is-leaf",
    from: { path: "^lib/contract/", pathNot: TEST },
    to: {
      path: "^(app|components|web|worker|scheduler|admin|e2e|lib|drizzle|jobs)/",
      pathNot: `^lib/(contract|text)/|${QUEUE_TYPES}`,
    },
  },
  {
    name: "async-is-leaf",
    from: { path: "^lib/async/", pathNot: TEST },
    to: { path: "^(app|components|web|worker|scheduler|admin|e2e|lib|drizzle|jobs)/", pathNot: "^lib/async/" },
  },
  {
    name: "schema-is-leaf",
    from: { path: "^drizzle/schema/", pathNot: TEST },
    to: { pathNot: "^drizzle/schema/|node_modules/drizzle-orm/" },
  },
  {
    name: "testing-only-from-tests",
    from: { pathNot: `${FOR_TESTS}|^vitest\\.config\\.ts$` },
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
