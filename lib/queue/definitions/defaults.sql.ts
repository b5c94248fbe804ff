/** Defaults if neither job, definition nor queue sets a value; app.enqueue_job and app.enqueue_jobs repeat them. */
export const TIMEOUT_SECONDS = 3600;
export const MAX_ATTEMPTS = 3;
