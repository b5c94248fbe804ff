import type { Post, ReceiverAnswer } from "@/lib/webhooks/delivery";

/** What the worker says to the thread that sends webhooks. `no` names one post. */
export type ToWebhookThread =
  | { readonly type: "post"; readonly no: number; readonly message: Omit<Post, "signal"> }
  | { readonly type: "stop"; readonly no: number };

/** The answer to a post that was not stopped. Before it, the thread reports that the post has a connection. */
export type FromWebhookThread =
  | { readonly type: "connected"; readonly no: number }
  | {
      readonly type: "answer";
      readonly no: number;
      readonly answer: Omit<ReceiverAnswer, "body"> & { readonly body: Uint8Array };
    };
