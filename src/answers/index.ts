export { type Answer, answers, type RequestKind, requestKinds, type SentBefore } from "./answers.ts";
export { answerTable, verdictOf } from "./table.ts";
export { type Meaning, meanings, type VerdictName, verdicts } from "./verdicts.ts";
