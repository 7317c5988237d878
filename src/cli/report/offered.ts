import { join } from "node:path";
import type { Reference, RunReport } from "../../index.ts";

/** One of the results that an approval shows, with the number to pick it by, from 1. */
export interface OfferedTake {
  readonly pick: number;
  readonly step: string;
  readonly index: number;
  readonly content_type: string | null;
  readonly asset_id: string | null;
  /** Our copy: the named file, or the one in the media store; null when there is none. */
  readonly path: string | null;
}

/** What these references lead to, in the order in which the engine counts them. */
export function offeredTakes(
  shows: readonly Reference[],
  report: RunReport,
  pathOf: (sha256: string) => string,
): readonly OfferedTake[] {
  const takes = shows.flatMap(({ $ref }) => {
    const { step } = $ref;
    if ($ref.as === "upload") return [{ step, index: 0, content_type: null, asset_id: null, path: null }];
    const outputs = report.steps.find(({ path }) => path === step)?.outputs ?? [];
    return outputs
      .filter(({ index, status }) => ($ref.output === "all" || $ref.output === index) && status !== "FAILED")
      .map(({ index, content_type, asset_id, file, sha256 }) => {
        const path = file === null ? (sha256 === null ? null : pathOf(sha256)) : join(report.out_dir, file);
        return { step, index, content_type, asset_id, path };
      });
  });
  return takes.map((take, position) => ({ pick: position + 1, ...take }));
}
