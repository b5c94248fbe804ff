import { watchHistory } from "@/lib/client/forms/history-guard";

// Next.js runs this file in the browser before the router starts.
watchHistory();
