import { isDiskError, MediaDiskError } from "../media/media-errors.ts";
import { done, type EffectContext, type EffectResult } from "./effect.ts";
import { bucketAway } from "./retry-or-pause.ts";

type Without = { readonly without: EffectResult };

/**
 * What comes before a request whose intent is durable already, and which nobody can be asked about: code, media. However it
 * ends without, the intent has to be taken back, or it would be taken for a request without an answer.
 */
export async function beforeSending<T extends object>(
  prepare: () => Promise<T | Without>,
  { signal, state }: Pick<EffectContext, "signal" | "state">,
): Promise<T | Without> {
  try {
    const ready = await prepare();
    // It may have taken a while: a run that was stopped, or that another process holds by now, sends nothing more.
    return signal.aborted ? { without: done() } : ready;
  } catch (error) {
    return { without: signal.aborted ? done() : endedBy(error, state) };
  }
}

function endedBy(error: unknown, { runId }: EffectContext["state"]): EffectResult {
  const serviceFailure = bucketAway(error);
  if (serviceFailure !== null) return { end: "unreachable", events: [], serviceFailure };
  return {
    end: "failed",
    events: [],
    failure: isDiskError(error) ? new MediaDiskError(runId, error) : (error as Error),
  };
}
