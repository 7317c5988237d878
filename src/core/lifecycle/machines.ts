import { or, setup, stateIn } from "xstate";

/**
 * One output of a completed job. It becomes `available` on the service and is then `downloaded`. It is `archived` when
 * only the local copy can still be used, or `expired` if it was not downloaded in time.
 */
export const outputMachine = setup({
  types: {
    events: {} as
      | { type: "output.available" }
      | { type: "output.given" }
      | { type: "output.failed" }
      | { type: "output.downloaded" }
      | { type: "output.lapsed" }
      | { type: "output.expired" },
  },
}).createMachine({
  id: "output",
  initial: "pending",
  states: {
    pending: {
      on: {
        "output.available": "available",
        "output.given": "archived",
        "output.failed": "failed",
        "output.expired": "expired",
      },
    },
    available: {
      on: { "output.downloaded": "downloaded", "output.lapsed": "lapsed", "output.expired": "expired" },
    },
    downloaded: { on: { "output.lapsed": "archived", "output.expired": "archived" } },
    lapsed: { on: { "output.lapsed": "lapsed", "output.downloaded": "archived", "output.expired": "expired" } },
    // Another step, or a download in progress, may report the output again. A download that succeeds archives it.
    archived: { on: { "output.lapsed": "archived", "output.expired": "archived", "output.downloaded": "archived" } },
    expired: { on: { "output.lapsed": "expired", "output.expired": "expired", "output.downloaded": "archived" } },
    failed: { type: "final" },
  },
});

/**
 * One attempt at a step: a job, a request to a provider, a request to a chat model, or a failed call of local code.
 * `phase` is the state of the work, and `money` is the state of the amount reserved for it.
 */
export const jobMachine = setup({
  types: {
    /**
     * `open`: the job may exist. `inFlight`: the job is open and needs no decision by a person. `submitting`: the job
     * is in flight, and the service has not responded yet. `accepted`: the job is in flight, and the service has
     * acknowledged it.
     */
    tags: {} as "open" | "inFlight" | "submitting" | "accepted",
    events: {} as
      | { type: "job.quoted" }
      | { type: "job.submit.intended" }
      | { type: "job.submit.unknown" }
      | { type: "job.submit.refused" }
      | { type: "job.submit.withdrawn" }
      | { type: "job.submitted" }
      | { type: "job.started" }
      | { type: "job.completed" }
      | { type: "job.failed" }
      | { type: "job.hold.raised" }
      | { type: "job.settled" }
      | { type: "job.unresolved" }
      | { type: "job.found" }
      | { type: "job.adopted" }
      | { type: "job.lost" }
      | { type: "chat.intended" }
      | { type: "chat.answered" }
      | { type: "chat.failed" }
      | { type: "chat.abandoned" }
      | { type: "task.failed" },
  },
  guards: {
    isPlanned: stateIn({ phase: "planned" }),
    isPriced: stateIn({ phase: "priced" }),
    isSubmitting: stateIn({ phase: "submitting" }),
    // A refusal may arrive after the attempt was left to a person.
    isUnanswered: or([stateIn({ phase: "submitting" }), stateIn({ phase: "unresolved" })]),
    isUnresolved: stateIn({ phase: "unresolved" }),
    // Only jobs that the service acknowledged have known charges.
    isAcknowledged: or([
      stateIn({ phase: "inQueue" }),
      stateIn({ phase: "inProgress" }),
      stateIn({ phase: "completed" }),
      stateIn({ phase: "failed" }),
    ]),
  },
}).createMachine({
  id: "job",
  type: "parallel",
  states: {
    phase: {
      initial: "planned",
      states: {
        // A chat is not quoted, and its answer contains the result and the cost.
        planned: { on: { "job.quoted": "priced", "chat.intended": "submitting", "task.failed": "failed" } },
        priced: { on: { "job.quoted": "priced", "job.submit.intended": "submitting" } },
        submitting: {
          tags: ["open", "inFlight", "submitting"],
          initial: "sent",
          on: {
            "job.submitted": "inQueue",
            "job.submit.refused": "refused",
            "job.submit.withdrawn": "priced",
            "job.unresolved": "unresolved",
            "chat.answered": "completed",
            "chat.failed": "failed",
            "chat.abandoned": "abandoned",
          },
          states: {
            sent: { on: { "job.submit.unknown": "unknown" } },
            unknown: { on: { "job.submit.unknown": "unknown" } },
          },
        },
        inQueue: {
          tags: ["open", "inFlight", "accepted"],
          on: {
            "job.started": "inProgress",
            "job.completed": "completed",
            "job.failed": "failed",
            "job.unresolved": "unresolved",
          },
        },
        inProgress: {
          tags: ["open", "inFlight", "accepted"],
          on: { "job.completed": "completed", "job.failed": "failed", "job.unresolved": "unresolved" },
        },
        unresolved: {
          tags: "open",
          on: {
            "job.submitted": "inQueue",
            "job.submit.refused": "refused",
            "job.found": "inQueue",
            "job.adopted": "inQueue",
            "job.lost": "lost",
          },
        },
        completed: { type: "final" },
        failed: { type: "final" },
        refused: { type: "final" },
        lost: { type: "final" },
        // The process that sent the request ended, and the outcome of the request cannot be looked up.
        abandoned: { type: "final" },
      },
    },
    money: {
      initial: "none",
      states: {
        none: {
          on: {
            "job.submit.intended": { target: "held", guard: "isPriced" },
            "chat.intended": { target: "held", guard: "isPlanned" },
          },
        },
        held: {
          on: {
            "job.hold.raised": "held",
            "job.settled": { target: "settled", guard: "isAcknowledged" },
            "job.submit.refused": { target: "released", guard: "isUnanswered" },
            "job.submit.withdrawn": { target: "none", guard: "isSubmitting" },
            "job.lost": { target: "released", guard: "isUnresolved" },
            "chat.answered": { target: "settled", guard: "isSubmitting" },
            "chat.failed": { target: "settled", guard: "isSubmitting" },
            "chat.abandoned": { target: "unconfirmed", guard: "isSubmitting" },
          },
        },
        settled: { on: { "job.settled": "settled" } },
        released: { type: "final" },
        // The amount may have been charged, so it stays reserved.
        unconfirmed: { type: "final" },
      },
    },
  },
});

const again = { "step.reset": "waiting" } as const;
const withResult = { tags: ["ended", "withResult"], on: again } as const;
const withoutResult = { tags: ["ended", "withoutResult"], on: again } as const;

/** The states of a step. A step that is ready to start is still `waiting`. */
export const stepMachine = setup({
  types: {
    tags: {} as "ended" | "withResult" | "withoutResult",
    events: {} as
      | { type: "step.started" }
      | { type: "step.succeeded" }
      | { type: "step.partial" }
      | { type: "step.failed" }
      | { type: "step.skipped" }
      | { type: "step.cancelled" }
      | { type: "step.reset" }
      | { type: "step.awaited" }
      | { type: "job.unresolved" }
      | { type: "job.submitted" }
      | { type: "job.submit.refused" }
      | { type: "job.found" }
      | { type: "job.adopted" }
      | { type: "job.lost" },
  },
}).createMachine({
  id: "step",
  initial: "waiting",
  states: {
    waiting: {
      on: {
        "step.started": "running",
        "step.skipped": "skipped",
        "step.cancelled": "cancelled",
        // A step that is priced but not started is priced again.
        "step.reset": "waiting",
      },
    },
    running: {
      on: {
        "step.succeeded": "succeeded",
        "step.partial": "partial",
        "step.failed": "failed",
        // The step has no job on the service, and no step that depends on it can succeed anymore.
        "step.skipped": "skipped",
        "step.cancelled": "cancelled",
        "job.unresolved": "unresolved",
        // The step has no job on the service: its submission was refused, its decision is open, or its attempt failed.
        "step.reset": "waiting",
      },
    },
    unresolved: {
      on: {
        "job.submitted": "running",
        "job.submit.refused": "running",
        "job.found": "running",
        "job.adopted": "running",
        "job.lost": "running",
        "step.cancelled": "cancelled",
      },
    },
    succeeded: withResult,
    partial: withResult,
    // If the run ended while the job was in progress, a resume polls the job again.
    failed: { ...withoutResult, on: { ...again, "step.awaited": "running" } },
    skipped: withoutResult,
    cancelled: withoutResult,
  },
});

/** An ended run is reopened by a rerun, or by the late result of a job that it was no longer waiting for. */
const ended = { tags: "ended", on: { "run.reopened": "running" } } as const;

/**
 * A run. The reason for a pause, such as funds or budget, is data and not a state: a paused run whose reason changes
 * stays `paused`.
 */
export const runMachine = setup({
  types: {
    tags: {} as "ended",
    events: {} as
      | { type: "run.started" }
      | { type: "run.paused" }
      | { type: "run.resumed" }
      | { type: "run.succeeded" }
      | { type: "run.partial" }
      | { type: "run.failed" }
      | { type: "run.cancelled" }
      | { type: "run.reopened" },
  },
}).createMachine({
  id: "run",
  initial: "planned",
  states: {
    planned: { on: { "run.started": "running", "run.cancelled": "cancelled" } },
    running: {
      on: {
        "run.paused": "paused",
        "run.succeeded": "succeeded",
        "run.partial": "partial",
        "run.failed": "failed",
        "run.cancelled": "cancelled",
      },
    },
    paused: { on: { "run.paused": "paused", "run.resumed": "running", "run.cancelled": "cancelled" } },
    succeeded: ended,
    partial: ended,
    failed: ended,
    cancelled: ended,
  },
});
