"use client";

export { ErrorPanel as default } from "@/components/shell/error-panel";
