import { exactly, id, listOf, object, oneOf, orNull, refTo, text, whole } from "../schema.ts";

const finish = oneOf("stop", "length");
const head = { id: { ...id("job"), description: "Also the job's id." }, created: whole, model: text };
const none = { type: "null" };

export const chatComponents = {
  ChatCompletionUsage: object({ prompt_tokens: whole, completion_tokens: whole, total_tokens: whole }),
  ChatCompletion: object({
    ...head,
    object: exactly("chat.completion"),
    choices: listOf(
      object({
        index: whole,
        message: object({ role: exactly("assistant"), content: text, refusal: none }),
        logprobs: none,
        finish_reason: finish,
      }),
    ),
    usage: refTo("ChatCompletionUsage"),
  }),
  ChatCompletionChunk: object(
    {
      ...head,
      object: exactly("chat.completion.chunk"),
      choices: listOf(
        object({
          index: whole,
          delta: object({}, { role: exactly("assistant"), content: text }),
          logprobs: none,
          finish_reason: orNull(finish),
        }),
      ),
    },
    { usage: orNull(refTo("ChatCompletionUsage")) },
  ),
  ChatCompletionError: object({ error: refTo("ErrorObject") }),
};
