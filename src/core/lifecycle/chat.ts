import { setup } from "xstate";

/**
 * One request to a chat model. It is written down before it leaves; a repair or a new try is another request.
 *
 * ```
 * sent → answered | failed | abandoned (sent by a process that is gone: nobody can ask what became of it)
 * ```
 */
export const chatMachine = setup({
  types: {
    events: {} as { type: "chat.answered" } | { type: "chat.failed" } | { type: "chat.abandoned" },
  },
}).createMachine({
  id: "chat",
  initial: "sent",
  states: {
    sent: { on: { "chat.answered": "answered", "chat.failed": "failed", "chat.abandoned": "abandoned" } },
    answered: { type: "final" },
    failed: { type: "final" },
    abandoned: { type: "final" },
  },
});
