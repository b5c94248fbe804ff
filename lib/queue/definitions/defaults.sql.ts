/** What holds where neither job, definition nor queue says anything; app.enqueue_job and app.enqueue_jobs have the same. */
export const TIMEOUT_SECONDS = 3600;
export const MAX_ATTEMPTS = 3;
