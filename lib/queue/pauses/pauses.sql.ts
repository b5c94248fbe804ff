/** The conditions of claims on pauses. */

/** True for a row of app.pauses that prevents claims at this moment; app.is_paused looks for such rows. */
export const HOLDS_NOW = "(paused_until is null or paused_until > app.now())";
/** True if anything is paused. PostgreSQL evaluates it once per statement. */
const SOME_PAUSE = `(select exists (select 1 from app.pauses where ${HOLDS_NOW}))`;

/** True if no pause blocks a lane. `isPaused` is the check for the lane; it is evaluated only while a pause exists. */
export const notPaused = (isPaused: string): string => `(not ${SOME_PAUSE} or not ${isPaused})`;
