import { hash } from "node:crypto";
import { ownVersion } from "../../kit/own-version.ts";
import type { Draft, Overlay, PlanContext } from "../../plan/index.ts";

/** A hash of everything a plan is made from. Equal hashes mean equal plans; different ones mean nothing. */
export function planBasis(drafted: Draft, overlay: Overlay, { catalog, files, voices }: PlanContext): string {
  const { pipeline, steps, returns, groups, onFailure } = drafted;
  // `files` includes the bytes by content.
  const said = steps.map((step) => ("bytes" in step && step.bytes !== null ? { ...step, bytes: [] } : step));
  const models = catalog.models();
  const families = models.map(({ id }) => catalog.family(id));
  const known = [catalog.ids(), models, families, [...files], [...(voices ?? [])]];
  const program = ownVersion();
  return `b1_${hash("sha256", JSON.stringify([program, pipeline, said, returns, groups, onFailure, overlay.profile, overlay.edits, overlay.texts, known]))}`;
}
