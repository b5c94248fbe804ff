const pad = (value: number) => String(value).padStart(2, "0");

/** Formats an instant for a datetime-local control, in the browser's zone, to the second. */
export function localInput(instant: string): string {
  const at = new Date(instant);
  const day = `${at.getFullYear()}-${pad(at.getMonth() + 1)}-${pad(at.getDate())}`;
  return `${day}T${pad(at.getHours())}:${pad(at.getMinutes())}:${pad(at.getSeconds())}`;
}

/** Returns the instant in a datetime-local control; null when it is empty or invalid. */
export function instantOf(text: string): string | null {
  const at = new Date(text);
  return text === "" || Number.isNaN(at.getTime()) ? null : at.toISOString();
}
