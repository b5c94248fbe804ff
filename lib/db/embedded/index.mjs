// The embedded PostgreSQL: packaged programs, one server, one owning process. The server stops when its owner exits or
// is killed. Built-ins only, because the start script imports this folder before the build. Start with `server.mjs`.
export { commandLine } from "./cluster.mjs";
export { dataDir, makeFolder } from "./placement.mjs";
export { crashServer, freePort, removeCluster, startEmbedded } from "./server.mjs";
/** @typedef {import("./server.mjs").EmbeddedServer} EmbeddedServer */
