import { handlers } from "@/jobs";
import { serveHandlerThread } from "@/lib/execution/thread/guest";

// A handler that computes for long runs here: it blocks this thread's event loop and no other, and can be ended at any time.
await serveHandlerThread(handlers);
