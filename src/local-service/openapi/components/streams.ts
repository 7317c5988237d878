import type { JsonSchema } from "../../catalog/model.ts";
import { exactly, object, refTo, text } from "../schema.ts";

const oneOf = (...names: readonly string[]) => ({ oneOf: names.map(refTo) });

/** A frame named `event`; the last frame of a stream has no id to resume from. */
const frame = (event: string, data: JsonSchema, id: JsonSchema | null) =>
  object({ event: exactly(event), data, ...(id ? { id } : {}) });

const resumable = { ...text, description: "Send it as Last-Event-ID to go on after this frame." };

/** Frames of event streams, their data parsed where it is JSON. */
export const streamComponents = {
  JobStreamData: oneOf("JobStatus", "LogEvent", "JobStreamEnd"),
  JobStreamEnd: { ...exactly("[STREAM_DONE]"), description: "Not JSON. It stands in no other frame." },
  JobStreamFrame: {
    ...oneOf("JobStreamStatusFrame", "JobStreamLogFrame", "JobStreamDoneFrame"),
    discriminator: {
      propertyName: "event",
      mapping: {
        status: "#/components/schemas/JobStreamStatusFrame",
        log: "#/components/schemas/JobStreamLogFrame",
        done: "#/components/schemas/JobStreamDoneFrame",
      },
    },
  },
  JobStreamStatusFrame: frame("status", refTo("JobStatus"), resumable),
  JobStreamLogFrame: frame("log", refTo("LogEvent"), resumable),
  JobStreamDoneFrame: frame("done", refTo("JobStreamEnd"), null),
  ChatCompletionStreamData: oneOf("ChatCompletionChunk", "ChatCompletionError", "ChatCompletionStreamEnd"),
  ChatCompletionStreamEnd: { ...exactly("[DONE]"), description: "Not JSON." },
  ChatCompletionStreamFrame: object({ data: refTo("ChatCompletionStreamData") }),
};
