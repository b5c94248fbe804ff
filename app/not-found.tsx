import type { Metadata } from "next";
import { MessagePage } from "@/components/shell/message-page";

export const metadata: Metadata = { title: "Not found" };

export default function NotFound() {
  return (
    <MessagePage code="404" title="Page not found">
      <p>The page does not exist, or you have no access to it.</p>
      <a href="/" className="font-medium text-accent underline">
        Go to start page
      </a>
    </MessagePage>
  );
}
