// The handler's client for web pages. It has no dependencies.
export type {
  CallerDocument,
  CallerEvent,
  CallerOutput,
  QuoteDocument,
  RunLine,
  StepProgress,
} from "../../core/view/index.ts";
export { type ConnectOptions, connect, type Runs, type StartOptions } from "./connect.ts";
export { type Decision, type FollowedRun, RequestError, type RunSnapshot } from "./followed-run.ts";
