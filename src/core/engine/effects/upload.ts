import { planStep } from "../../journal/state.ts";
import type { UploadStep } from "../../plan/plan.ts";
import { isStoreError } from "../media/media-errors.ts";
import { done } from "../service/service-answers.ts";
import type { Effect } from "./effect.ts";

export const upload: Effect<"upload"> = async (command, { state, media }) => {
  const { file } = planStep(state, command.step) as UploadStep;
  const { step } = command;
  const { sha256, sizeBytes, contentType } = file;
  const stored = { type: "upload.stored", step, sha256, sizeBytes, contentType } as const;
  const copy = await media.put({ path: file.path, sha256 }).catch((cause: unknown) => {
    if (isStoreError(cause)) throw cause;
    return cause as Error;
  });
  const reason =
    copy instanceof Error
      ? `${file.path} can no longer be read (${copy.message})`
      : copy.sha256 === sha256
        ? null
        : `${file.path} changed since the run was planned; put the planned file back, or start a new run`;
  return done(reason === null ? stored : { type: "step.finished", step, status: "failed", reason });
};
