const pad = (value: number) => String(value).padStart(2, "0");

/** An instant as a datetime-local control shows it, in the browser's zone, to the second. */
export function localInput(instant: string): string {
  const at = new Date(instant);
  const day = `${at.getFullYear()}-${pad(at.getMonth() + 1)}-${pad(at.getDate())}`;
  return `${day}T${pad(at.getHours())}:${pad(at.getMinutes())}:${pad(at.getSeconds())}`;
}

/** The instant that a datetime-local control says; null when it says none. */
export function instantOf(text: string): string | null {
  const at = new Date(text);
  return text === "" || Number.isNaN(at.getTime()) ? null : at.toISOString();
}
