import { JobSkeleton } from "@/components/jobs/job-skeleton";

export default function Loading() {
  return <JobSkeleton />;
}
