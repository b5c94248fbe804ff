"use client";

import { CopyButton } from "@/components/ui/copy-button";
import { FoldMark } from "@/components/ui/fold-mark";
import { ScrollPre } from "@/components/ui/scroll-pre";

const SAMPLE = `import { createHmac, timingSafeEqual } from "node:crypto";

export function verify(secret, headers, rawBody) {
  const { "webhook-id": id, "webhook-timestamp": time, "webhook-signature": signatures } = headers;
  if (Math.abs(Date.now() / 1000 - Number(time)) > 300) return false;
  const key = Buffer.from(secret.replace("whsec_", ""), "base64");
  const wanted = createHmac("sha256", key).update(\`\${id}.\${time}.\${rawBody}\`).digest();
  return signatures.split(" ").some((one) => {
    const given = Buffer.from(one.replace("v1,", ""), "base64");
    return given.length === wanted.length && timingSafeEqual(given, wanted);
  });
}`;

/** How a receiver verifies that a message is ours. */
export function VerifySample() {
  return (
    <details className="panel">
      <summary className="flex items-center gap-1.5 px-4 py-3 font-medium text-sm">
        <FoldMark />
        How the receiver checks a signature
      </summary>
      <div className="flex flex-col gap-2 border-line border-t px-4 py-3 text-sm">
        <p className="text-muted">
          As Standard Webhooks says: any of its libraries does, or this in Node. Check the bytes as they came, and use
          the header <code className="font-mono">webhook-id</code> to know a repetition.
        </p>
        <div className="relative">
          <ScrollPre className="overflow-x-auto rounded-md border border-line bg-sunken px-3 py-2 font-mono text-xs">
            {SAMPLE}
          </ScrollPre>
          <div className="absolute top-1 right-1 rounded-md bg-sunken">
            <CopyButton text={SAMPLE} label="Copy the sample" />
          </div>
        </div>
      </div>
    </details>
  );
}
