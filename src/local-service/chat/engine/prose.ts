import type { Chance } from "./chance.ts";
import type { Topic } from "./topic.ts";

/** Writes short texts about a topic; `index` varies the elements of a list. */
export interface Prose {
  /** A shot description. */
  visual(index: number): string;
  /** A narration line. */
  spoken(index: number): string;
  title(index: number): string;
  word(index: number): string;
  sentence(index: number): string;
}

const FRAMINGS = [
  "Wide establishing shot",
  "Medium shot",
  "Close-up",
  "Low-angle shot",
  "Slow tracking shot",
  "Over-the-shoulder view",
  "Aerial view",
  "Detail shot",
];
const LIGHTS = ["soft morning light", "golden hour glow", "cool moonlight", "warm lamplight", "bright overcast sky"];
const MOODS = ["calm mood", "quiet tension", "playful energy", "gentle wonder", "hopeful tone"];

const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);
const at = (list: readonly string[], index: number) => list[index % list.length] ?? "";

export function proseAbout(topic: Topic, chance: Chance): Prose {
  const { subject, keywords } = topic;
  // Each answer starts every phrase list at a random offset, so that answers differ.
  const turn = { light: chance.below(LIGHTS.length), mood: chance.below(MOODS.length), line: chance.below(5) };
  const keyword = (index: number) => at(keywords, index);

  const lines = (index: number) => [
    `This is the story of ${subject}.`,
    `Look closer, and the ${keyword(index)} tells you more.`,
    `Then comes the moment of the ${keyword(index + 1)}, and everything turns.`,
    `Nobody expected what the ${keyword(index + 2)} would bring.`,
    `And so it ends as it began, with the ${keyword(index)}.`,
  ];

  const statements = (index: number) => [
    `${capital(subject)}: that is what this is about.`,
    `What matters most is the ${keyword(index)}.`,
    `The ${keyword(index)} and the ${keyword(index + 1)} belong together here.`,
    `Keep the ${keyword(index + 2)} simple and let the ${keyword(index)} lead.`,
  ];

  return {
    visual(index) {
      const light = at(LIGHTS, turn.light + index);
      const focus = index === 0 ? "" : `, the ${keyword(index)} in focus`;
      return `${at(FRAMINGS, index)} of ${subject}${focus}, ${light}, ${at(MOODS, turn.mood + index)}`;
    },
    spoken: (index) => at(lines(index), index === 0 ? 0 : turn.line + index),
    title: (index) => [...new Set([0, 1, 2].map((more) => keyword(index + more)))].map(capital).join(" "),
    word: (index) => keyword(index),
    sentence: (index) => at(statements(index), index),
  };
}
