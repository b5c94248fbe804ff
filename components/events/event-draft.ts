/** An event that is being composed. */
export interface EventDraft {
  readonly name: string;
  readonly data: Record<string, unknown>;
}
