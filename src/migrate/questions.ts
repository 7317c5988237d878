import { lossKey } from "./decisions-file.ts";
import type { BodyReport } from "./report/report.ts";

/** Something that a person can answer at once; the answer goes into `map` under the key, or the key into `leaveOut`. */
export interface Question {
  /** v2 slug or id; of a loss, its `lossKey`. */
  readonly key: string;
  readonly about: "model" | "voice" | "loss";
  readonly question: string;
  /** v3 ids, the one that is taken for now first where there is one. */
  readonly choices: readonly string[];
}

const MODEL = /(?:^|\.)(?:model_slug|ai_model_id|model_id)$/;
const VOICE = /(?:^|\.)voice_id$/;

/** Each open model, voice and loss once, however many bodies have it. */
export function questionsOf(bodies: readonly BodyReport[]): readonly Question[] {
  const found = new Map<string, Question>();
  for (const { fields, status } of bodies) {
    if (status !== "migrated") continue;
    for (const entry of fields) {
      const { field, given, outcome, value, why, choices } = entry;
      if (entry.isLost) {
        const key = lossKey(entry);
        found.set(key, { key, about: "loss", question: `${field} arrives nowhere: ${why}`, choices: [] });
        continue;
      }
      const about = MODEL.test(field) ? "model" : VOICE.test(field) ? "voice" : null;
      if (outcome !== "decision" || !given || about === null || typeof value !== "string" || found.has(value)) continue;
      const offered = about === "voice" ? choices.slice(1) : choices;
      const ids = offered.map((choice) => choice.replace(/ \(.*\)$/, ""));
      found.set(value, { key: value, about, question: `${value}: ${why}`, choices: ids });
    }
  }
  return [...found.values()];
}
