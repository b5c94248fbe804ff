import { cleanMessage, cleanResult, type ReportChange } from "@/lib/execution/output/clean-result";
import { dropTerminalSequences, storable } from "@/lib/execution/output/clean-text";
import { redactText } from "@/lib/execution/output/redactor";
import { secretForms } from "@/lib/execution/output/secret-forms";

/** The secrets of a remote worker are unknown here, so text that looks like a secret is masked. */
const NO_LITERALS = secretForms([]);

/** Cleans a text of a remote worker for storing and showing. */
export const cleanLine = (text: string): string => redactText(storable(dropTerminalSequences(text)), NO_LITERALS);

/** Cleans an error text of a remote worker: storable, redacted, cut. */
export const cleanError = (text: string): string => cleanMessage(dropTerminalSequences(text), NO_LITERALS);

/** Cleans a result of a remote worker, exactly like the results of handlers. */
export const cleanAnswer = (result: unknown, report: ReportChange): unknown => cleanResult(result, NO_LITERALS, report);
