// The embedded PostgreSQL: packaged programs, one server, one owner. Built-ins only.
export { commandLine } from "./cluster.mjs";
export { dataDir, makeFolder } from "./placement.mjs";
export { crashServer, freePort, removeCluster, startEmbedded } from "./server.mjs";
/** @typedef {import("./server.mjs").EmbeddedServer} EmbeddedServer */
