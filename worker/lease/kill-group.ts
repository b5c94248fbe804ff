/** Kills a process group at once. Never signals this process's own group; a no-op when the group is gone. */
export function killGroup(pid: number): void {
  // 0 and 1 would signal this process's own group and every process.
  if (!Number.isInteger(pid) || pid <= 1) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // The group is already gone.
  }
}
