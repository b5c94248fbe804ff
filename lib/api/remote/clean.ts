import { cleanMessage, cleanResult, type ReportChange } from "@/lib/execution/output/clean-result";
import { dropTerminalSequences, storable } from "@/lib/execution/output/clean-text";
import { redactText } from "@/lib/execution/output/redactor";
import { secretForms } from "@/lib/execution/output/secret-forms";

/** Which secrets a remote worker has is not known here; what looks like one is masked. */
const NO_LITERALS = secretForms([]);

/** Text of a remote worker that can be stored and shown. */
export const cleanLine = (text: string): string => redactText(storable(dropTerminalSequences(text)), NO_LITERALS);

/** An error text of a remote worker: cleaned, redacted, cut. */
export const cleanError = (text: string): string => cleanMessage(dropTerminalSequences(text), NO_LITERALS);

/** A result of a remote worker as it can be stored, exactly as those of handlers are. */
export const cleanAnswer = (result: unknown, report: ReportChange): unknown => cleanResult(result, NO_LITERALS, report);
