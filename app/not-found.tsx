import type { Metadata } from "next";
import { MessagePage } from "@/components/shell/message-page";

export const metadata: Metadata = { title: "Not found" };

export default function NotFound() {
  return (
    <MessagePage code="404" title="Nothing here">
      <p>The page does not exist, or it is not yours to see.</p>
      <a href="/" className="font-medium text-accent underline">
        To the start
      </a>
    </MessagePage>
  );
}
