import { cleanText } from "../../clean-text.ts";
import { MediaBucketError } from "../media/bucket/bucket-errors.ts";
import type { ServiceFailure } from "../service/service-answers.ts";

/** The bucket of the media did not answer, or not yet: what needs it is tried again. Null for anything else. */
export function bucketAway(error: unknown): ServiceFailure | null {
  const passes = error instanceof MediaBucketError && (error.reason === "busy" || error.reason === "unreachable");
  return passes ? { pause: "unreachable", isMedia: true, message: cleanText(error.message) } : null;
}
