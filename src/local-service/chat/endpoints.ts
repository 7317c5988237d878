import type { Clock } from "../clock/clock.ts";
import { type Answer, type Call, type Endpoint, endpoint, ok } from "../http/call.ts";
import { asChatError, type ErrorBody, notFound, Refusal, refuseForNow } from "../http/refusal.ts";
import type { ServiceContext } from "../service-context.ts";
import { openSink } from "../stream/open-streams.ts";
import { moderateTexts } from "../validate/problems.ts";
import { type ChatJob, type Composed, chatJobs, compose } from "./chat-job.ts";
import { type AnswerForm, type AnswerHead, completionForm } from "./form.ts";
import { type ChatModel, OWN_CHAT_MODEL } from "./models.ts";
import { type ChatRequest, MAX_CHAT_BYTES, modelNamed, readChatRequest } from "./request.ts";
import { type ResponsesBody, readResponsesBody, responsesField, responsesForm, toChatBody } from "./responses.ts";

export function until(clock: Clock, dueMs: number): Promise<void> {
  if (dueMs <= clock.now()) return Promise.resolve();
  return new Promise((resolve) => void clock.at(dueMs, resolve));
}

/** Returns a function that streams the answer to a chat. The job runs to completion even if the client disconnects. */
function chatStreamer({ clock, streams, faults, options }: ServiceContext) {
  return async (call: Call, job: ChatJob, { tokens }: Composed, form: AnswerForm): Promise<void> => {
    const frames = form.frames();
    const sink = openSink(call, faults.stream(job.row));
    const failsAt = job.failure === null ? Number.POSITIVE_INFINITY : Math.floor(tokens.length / 2);
    const fail = (error: ErrorBody) =>
      sink.end(frames.error(options.asOf === "3.9" ? error : asChatError(error, true)));
    const sendAll = async (all: readonly string[]) => {
      for (const frame of all) await sink.send(frame);
    };
    const leave = streams.add({
      keepAlive: sink.comment,
      shutDown: () => fail(refuseForNow("UNAVAILABLE", "The service is shutting down.", 1).body),
    });

    try {
      await sendAll(frames.first());
      for (const [index, token] of tokens.slice(0, failsAt).entries()) {
        await until(clock, job.dueMs(index));
        await sendAll(frames.token(token));
      }
      await job.finish();
      if (job.failure) return fail(job.failure);
      await sendAll(frames.last());
      sink.end();
    } finally {
      leave();
    }
  };
}

/** Replaces trigger words such as `moderation-refused:violence` in the messages, so that answers never contain them. */
function withoutNamed(request: ChatRequest, triggers: readonly string[]): ChatRequest {
  const words = triggers.map((word) => word.replaceAll(/[^\w\s]/g, "\\$&"));
  if (words.length === 0) return request;
  const named = new RegExp(`(?:${words.join("|")}):[a-z_-]+`, "gi");
  const messages = request.messages.map((message) => ({ ...message, text: message.text.replaceAll(named, "quiet") }));
  return { ...request, messages };
}

function moderate(request: ChatRequest, triggers: readonly string[]): void {
  const texts = request.messages.map(({ text }, index) => ({ field: `messages[${index}].content`, text }));
  moderateTexts(texts, triggers);
}

async function look({ images }: ChatRequest): Promise<readonly number[] | null> {
  if (images.length === 0) return null;
  const { blackAmong } = await import("./pictures.ts");
  return blackAmong(images);
}

interface Dialect<Body> {
  read(body: unknown): Body;
  toChat(body: Body): unknown;
  form(head: AnswerHead, composed: Composed, request: ChatRequest, body: Body): AnswerForm;
  field(name: string): string;
}

const COMPLETIONS: Dialect<unknown> = {
  read: (body) => body,
  toChat: (body) => body,
  form: (head, composed, { includeUsage }) => completionForm(head, composed, includeUsage),
  field: (name) => name,
};

const RESPONSES: Dialect<ResponsesBody> = {
  read: readResponsesBody,
  toChat: toChatBody,
  form: (head, composed, _request, body) => responsesForm(head, composed, body),
  field: responsesField,
};

function renamed(error: unknown, nameOf: (field: string) => string): unknown {
  if (!(error instanceof Refusal) || error.body.param === undefined) return error;
  const { param, details } = error.body;
  const inDetails = details?.map(({ field, message, ...rest }) => {
    return { ...rest, field: nameOf(field), message: message.replace(field, nameOf(field)) };
  });
  const body = { ...error.body, param: nameOf(param), ...(inDetails && { details: inDetails }) };
  return new Refusal(body, error.headers, error.strictBody.message);
}

export function chatEndpoints(service: ServiceContext): readonly Endpoint[] {
  const { catalog, clock, options, onDefect } = service;
  const isEarlier = options.asOf === "3.9";
  const start = chatJobs(service);
  const stream = chatStreamer(service);

  function modelOf(body: unknown): ChatModel | null {
    const name = modelNamed(body);
    const model = name === null ? null : catalog.chat(name);
    if (model !== undefined) return model;
    const fixed = "There is no such chat model.";
    throw notFound(`${fixed} Available: ${catalog.chats.map(({ id }) => id).join(", ")}.`, fixed);
  }

  function answering<Body>(dialect: Dialect<Body>) {
    return async (call: Call): Promise<Answer> => {
      const sent = await call.json();
      // A missing model is reported later, when the body is read.
      const model = modelOf(sent) ?? OWN_CHAT_MODEL;
      const body = dialect.read(sent);
      try {
        return await answer(call, dialect, body, model);
      } catch (error) {
        throw renamed(error, dialect.field);
      }
    };
  }

  async function answer<Body>(call: Call, dialect: Dialect<Body>, body: Body, model: ChatModel): Promise<Answer> {
    const request = withoutNamed(
      readChatRequest(dialect.toChat(body), model, { isEarlier }),
      options.moderationTriggers,
    );
    moderate(request, options.moderationTriggers);
    const composed = compose(request, await look(request));
    const job = await start(request, composed, call);
    const head = { id: job.row.jobId, created: Math.floor(job.row.createdAt / 1000), model: model.id };
    const form = dialect.form(head, composed, request, body);
    if (request.stream) {
      stream(call, job, composed, form).catch((error: unknown) => onDefect(error, call.traceId));
      return { is: "sent", status: 200 };
    }
    await until(clock, job.dueMs(composed.tokens.length));
    await job.finish();
    if (job.failure === null) return ok(form.whole());
    const { retry_after } = job.failure;
    throw new Refusal(job.failure, retry_after === undefined ? {} : { "Retry-After": String(retry_after) });
  }

  const row = <Body>(path: string, summary: string, dialect: Dialect<Body>): Endpoint =>
    endpoint("POST", path, "chat:write", summary, answering(dialect));
  const completions = row("/chat/completions", "Answer a conversation, as JSON or a stream", COMPLETIONS);
  if (isEarlier) return [completions];
  const responses = row("/responses", "Answer a conversation, in the Responses format", RESPONSES);
  return [completions, responses].map((endpoint) => ({
    ...endpoint,
    maxBodyBytes: MAX_CHAT_BYTES,
    hasChatErrors: true,
  }));
}
