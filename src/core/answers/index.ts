export {
  type Answer,
  answers,
  meanings,
  type RequestKind,
  requestKinds,
  type SentBefore,
  type VerdictName,
  verdicts,
} from "./answers.ts";
export { answerTable, verdictOf } from "./table.ts";
