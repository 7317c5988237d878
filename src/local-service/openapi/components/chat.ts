import { anyFields, exactly, id, listOf, object, oneOf, orNull, refTo, text, whole } from "../schema.ts";

const finish = oneOf("stop", "length");
const head = { id: { ...id("job"), description: "Also the job's id." }, created: whole, model: text };

export const chatComponents = {
  ChatCompletionUsage: object({ prompt_tokens: whole, completion_tokens: whole, total_tokens: whole }),
  ChatCompletion: object({
    ...head,
    object: exactly("chat.completion"),
    choices: listOf(
      object({
        index: whole,
        message: object({ role: exactly("assistant"), content: text, refusal: orNull(text) }),
        logprobs: orNull(anyFields),
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
          logprobs: orNull(anyFields),
          finish_reason: orNull(finish),
        }),
      ),
    },
    { usage: orNull(refTo("ChatCompletionUsage")) },
  ),
  ChatCompletionError: object({ error: refTo("ErrorObject") }),
};
