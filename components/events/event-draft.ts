/** An event that is being written. */
export interface EventDraft {
  readonly name: string;
  readonly data: Record<string, unknown>;
}
