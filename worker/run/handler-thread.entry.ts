import { handlers } from "@/jobs";
import { serveHandlerThread } from "@/lib/execution/thread/guest";

// Runs a handler that computes for long: it blocks only this thread's event loop, and can be ended at any time.
await serveHandlerThread(handlers);
