// Offers pipelines as endpoints on any server.
export type {
  EventView,
  MediaView,
  ProgressView,
  QuoteView,
  RunLine,
  RunView,
  StepView,
  WaitingView,
} from "../browser/index.ts";
export { createHandler } from "./create-handler.ts";
export type { Caller, Endpoint, Handler, HandlerOptions } from "./options.ts";
