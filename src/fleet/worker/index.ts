export {
  createTimersEngine,
  type Engine,
  type EngineHandlers,
  keyOfWork,
  type ProcessOptions,
  type TimersOptions,
  type WakeOptions,
} from "./engine.ts";
export { nodeHandler } from "./node-handler.ts";
export { createWebhookReceiver, type WebhookReceiverOptions } from "./webhooks.ts";
export { startWorker, type Worker, type WorkerOptions } from "./worker.ts";
