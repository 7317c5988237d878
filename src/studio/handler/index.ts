// Offers pipelines as endpoints on any server.
export type {
  CallerDocument,
  CallerEvent,
  CallerOutput,
  QuoteDocument,
  RunLine,
  StepProgress,
} from "../../core/view/index.ts";
export { createHandler } from "./create-handler.ts";
export type { Caller, Endpoint, Handler, HandlerOptions } from "./options.ts";
