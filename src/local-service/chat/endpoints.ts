import { type Answer, type Call, type Endpoint, endpoint, ok } from "../http/call.ts";
import { Refusal, refuse } from "../http/refusal.ts";
import type { ServiceContext } from "../service-context.ts";
import { chatJobs } from "./chat-job.ts";
import { chatStreamer, completion, until } from "./chat-stream.ts";
import { chatModel, compose } from "./compose.ts";
import { type ChatRequest, modelNamed, readChatRequest } from "./request.ts";

function moderate(request: ChatRequest, triggers: readonly string[]): void {
  const offending = request.messages.findIndex(({ text }) =>
    triggers.some((word) => text.toLowerCase().includes(word)),
  );
  if (offending < 0) return;
  const param = `messages[${offending}].content`;
  throw refuse("MODERATION_FAILED", "The input was refused by moderation.", { param });
}

/** `POST /chat/completions`: answered by the text engine in this process, and charged like any job. */
export function chatEndpoints(service: ServiceContext): readonly Endpoint[] {
  const { clock, options, onDefect } = service;
  const start = chatJobs(service);
  const stream = chatStreamer(service);

  async function complete(call: Call): Promise<Answer> {
    const body = await call.json();
    const named = modelNamed(body);
    if (named !== null) chatModel(named);
    const request = readChatRequest(body);
    const model = chatModel(request.model);
    moderate(request, options.moderationTriggers);
    const composed = compose(request, model);
    const job = await start(request, composed, call.principal);
    const head = { id: job.row.jobId, created: Math.floor(job.row.createdAt / 1000), model: model.id };
    if (request.stream) {
      const streamed = { job, head, composed, includeUsage: request.includeUsage };
      stream(call, streamed).catch((error: unknown) => onDefect(error, call.traceId));
      return { is: "sent", status: 200 };
    }
    await until(clock, job.dueMs(composed.usage.completion_tokens));
    await job.finish();
    if (job.failure === null) return ok(completion(head, composed));
    const retryAfter = job.failure.retry_after;
    throw new Refusal(job.failure, retryAfter === undefined ? {} : { "Retry-After": String(retryAfter) });
  }

  return [endpoint("POST", "/chat/completions", "chat:write", "Answer a conversation, whole or as a stream", complete)];
}
