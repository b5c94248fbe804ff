/** Replaced by the bundlers: true only in a build made for tests. */
declare const __LEASEHOLD_TEST_BUILD__: boolean | undefined;

/** Whether this is a test build that was asked to do without the application's own tenant conditions. */
export function dropTenantFilter(): boolean {
  const isTestBuild = typeof __LEASEHOLD_TEST_BUILD__ !== "undefined" && __LEASEHOLD_TEST_BUILD__;
  return isTestBuild && process.env.LEASEHOLD_TEST_NO_TENANT_FILTER === "1";
}
