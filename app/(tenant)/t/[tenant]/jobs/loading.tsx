import { JobsSkeleton } from "@/components/jobs/jobs-skeleton";

export default function Loading() {
  return <JobsSkeleton />;
}
