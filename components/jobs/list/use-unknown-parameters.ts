"use client";

import { useSearchParams } from "next/navigation";
import { useEffect } from "react";
import { useToast } from "@/components/ui/toast";
import { jobFilterParsers } from "@/lib/client/jobs/job-filters";

/** Warns when the address has an unknown filter or an invalid value, because both are ignored. */
export function useUnknownParameters(): void {
  const params = useSearchParams();
  const toast = useToast();
  const ignored = [...params.entries()].filter(([name, value]) => !isUnderstood(name, value)).map(([name]) => name);
  const names = [...new Set(ignored)].join(", ");
  useEffect(() => {
    if (names) toast({ title: "A filter in the URL was ignored", detail: names.slice(0, 100) });
  }, [names, toast]);
}

function isUnderstood(name: string, value: string): boolean {
  if (!Object.hasOwn(jobFilterParsers, name)) return name.startsWith("_");
  const parser = jobFilterParsers[name as keyof typeof jobFilterParsers];
  const parsed: unknown = parser.parse(value);
  return Array.isArray(parsed) ? parsed.length === value.split(",").length : parsed !== null;
}
