import type { Catalog } from "../catalog/catalog.ts";
import { type FieldProblem, problem } from "../http/refusal.ts";
import type { VoiceProfile } from "../render/contract.ts";
import type { Store } from "../store/store.ts";
import type { Owner } from "../store/tables.ts";

/** The profile of a voice that this owner may use; null when there is none. */
export function findVoice(store: Store, catalog: Catalog, voiceId: string, owner: Owner): VoiceProfile | null {
  const stock = catalog.stockVoice(voiceId);
  if (stock) return { base: stock.base, pitchHz: null, loudnessDb: null, label: stock.name };
  const own = store.voices.get(voiceId);
  if (!own || own.workspaceId !== owner.workspaceId || own.ownerId !== owner.ownerId) return null;
  return JSON.parse(own.profile) as VoiceProfile;
}

/** The problem with an input's voice. */
export function voiceProblems(
  store: Store,
  catalog: Catalog,
  input: Readonly<Record<string, unknown>>,
  owner: Owner,
): FieldProblem[] {
  const voiceId = input["voice_id"];
  if (typeof voiceId !== "string") return [];
  if (voiceId.startsWith("job_")) {
    return [problem("input.voice_id", "is a job id; use outputs[].voice_id of that job", "not_a_voice")];
  }
  if (findVoice(store, catalog, voiceId, owner)) return [];
  return [problem("input.voice_id", "is neither a stock voice nor one of yours", "not_found")];
}
