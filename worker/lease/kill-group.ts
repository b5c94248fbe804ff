/** Kills a process group at once. Never signals this process's own group, and is content when the group is gone. */
export function killGroup(pid: number): void {
  // 0 and 1 would mean our own group, and everybody.
  if (!Number.isInteger(pid) || pid <= 1) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // It is gone already.
  }
}
