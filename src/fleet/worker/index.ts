// The engine's interface, and the engine of one process.
export { type Engine, type EngineHandlers, keyOfWork, type ProcessOptions, type WakeOptions } from "./engine.ts";
// Webhooks of the service, at any worker.
export { nodeHandler } from "./node-handler.ts";
export { createTimersEngine, type TimersOptions } from "./timers.ts";
export { createWebhookReceiver, type WebhookReceiverOptions } from "./webhooks.ts";
// A process that drives runs.
export { startWorker, type Worker, type WorkerOptions } from "./worker.ts";
