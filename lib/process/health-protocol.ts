/** Live: the event loop of the process turns. Ready: the process can work. */
export type HealthQuestion = "live" | "ready";

/** Ready: true, or notices for an operator. Not ready: false, or a reason. */
export type Readiness = boolean | string | { readonly notices: readonly string[] };

/** What the health thread starts with. */
export interface HealthThreadData {
  /** 0 takes a free port. */
  readonly port: number;
  readonly host: string;
}

/** The first message is the port that the thread listens on. Later ones ask the main thread. */
export type FromHealthThread =
  | { readonly type: "listening"; readonly port: number }
  | { readonly type: "ask"; readonly question: HealthQuestion };

/** An answer, or the notice that earlier answers about readiness are out of date. */
export type ToHealthThread =
  | { readonly type: "answer"; readonly question: HealthQuestion; readonly is: Readiness }
  | { readonly type: "outdated" };
