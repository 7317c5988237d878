// The handler's client for web pages. It has no dependencies.
export { type ConnectOptions, connect, type Runs, type StartOptions } from "./connect.ts";
export { type Decision, type FollowedRun, RequestError, type RunSnapshot } from "./followed-run.ts";
export type {
  EventView,
  MediaView,
  ProgressView,
  QuoteView,
  RunLine,
  RunView,
  StepView,
  WaitingView,
} from "./wire.ts";
