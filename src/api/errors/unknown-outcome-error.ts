import { ShowrunnerError } from "../../errors.ts";

/**
 * A submit may or may not have made a paid job: some send of it got no answer that settles the question. Send the same
 * request with the same key again (`mayExist: true`) until an ack comes, or look the job up; never use a new key.
 * `cause` is the last answer or failure seen.
 */
export class UnknownOutcomeError extends ShowrunnerError {
  readonly code = "UNKNOWN_OUTCOME";
  /** The key that resolves the question, or null when the submit had none: then only a look at the job list can. */
  readonly idempotencyKey: string | null;
  readonly model: string;
  /** True when a send before the one that `cause` answers may have made the job. */
  readonly earlierSend: boolean;

  constructor(options: {
    readonly model: string;
    readonly idempotencyKey: string | null;
    readonly cause: unknown;
    /** Default true. */
    readonly earlierSend?: boolean | undefined;
  }) {
    const how = options.idempotencyKey
      ? `submit again with key ${options.idempotencyKey} and mayExist: true`
      : "look for it in the model's job list; a submit without an idempotency key cannot be asked about";
    const why = options.cause instanceof Error ? options.cause.message : String(options.cause);
    super(`The submit to ${options.model} may have made a job (${why}). To find out, ${how}.`, {
      cause: options.cause,
    });
    this.model = options.model;
    this.idempotencyKey = options.idempotencyKey;
    this.earlierSend = options.earlierSend ?? true;
  }
}
