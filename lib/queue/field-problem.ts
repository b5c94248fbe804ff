/** One problem of an input; `pointer` is a JSON pointer (RFC 6901) into it. Never contains the value. */
export interface FieldProblem {
  readonly pointer: string;
  readonly code: string;
  readonly detail: string;
}
