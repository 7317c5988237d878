export {
  type Answer,
  answers,
  type Meaning,
  meanings,
  type RequestKind,
  requestKinds,
  type SentBefore,
  type VerdictName,
  verdicts,
} from "./answers.ts";
export { answerTable, verdictOf } from "./table.ts";
