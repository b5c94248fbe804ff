import type { Launch } from "./quarantine-protocol";

/** The isolation of a machine without any helper program. */
export const plainLaunch: Launch = {
  namespace: null,
  userNamespace: false,
  hidden: null,
  unshare: null,
  setpriv: null,
  prlimit: null,
  ionice: null,
  runAs: null,
  ownUsers: false,
};
