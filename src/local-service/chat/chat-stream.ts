import type { Call } from "../http/call.ts";
import { refuseForNow } from "../http/refusal.ts";
import type { ServiceContext } from "../service-context.ts";
import type { ChatJob } from "./chat-job.ts";
import type { Composed } from "./compose.ts";
import { type CompletionHead, chunkWriter, STREAM_END } from "./shapes.ts";
import { openSink } from "./sink.ts";
import { until } from "./wait.ts";

interface Streamed {
  readonly job: ChatJob;
  readonly head: CompletionHead;
  readonly composed: Composed;
  readonly includeUsage: boolean;
}

/**
 * Streams an answer token by token. The work goes on to its end when the reader leaves. Once the stream has begun, a
 * failure is one chunk with the error, and the end.
 */
export function chatStreamer({ clock, streams, faults }: ServiceContext) {
  return async (call: Call, { job, head, composed, includeUsage }: Streamed): Promise<void> => {
    const { choices, usage } = composed;
    const chunks = chunkWriter(head, includeUsage);
    const sink = openSink(call, faults.stream(job.row));
    const failsAt = job.failure === null ? Number.POSITIVE_INFINITY : Math.floor(usage.completion_tokens / 2);
    const leave = streams.add({
      wakeOn: () => () => undefined,
      onWake: () => undefined,
      keepAlive: sink.comment,
      shutDown: () => sink.end(chunks.error(refuseForNow("UNAVAILABLE", "The service is closing.", 1).body)),
    });

    async function sendChoices(): Promise<void> {
      let sent = 0;
      for (const [index, { tokens, finishReason }] of choices.entries()) {
        await sink.send(chunks.first(index));
        for (const token of tokens) {
          if (sent >= failsAt) return;
          await until(clock, job.dueMs(sent++));
          await sink.send(chunks.token(index, token));
        }
        await sink.send(chunks.last(index, finishReason));
      }
    }

    try {
      await sendChoices();
      await job.settle();
      if (job.failure) return sink.end(chunks.error(job.failure));
      await sink.send(chunks.usage(usage));
      await sink.send(STREAM_END);
      sink.end();
    } finally {
      leave();
    }
  };
}
