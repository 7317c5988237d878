export { type Engine, type EngineHandlers, keyOfWork, type ProcessOptions, type WakeOptions } from "./engine.ts";
export { nodeHandler } from "./node-handler.ts";
export { createTimersEngine, type TimersOptions } from "./timers.ts";
export { createWebhookReceiver, type WebhookReceiverOptions } from "./webhooks.ts";
export { startWorker, type Worker, type WorkerOptions } from "./worker.ts";
