import { pick, type Random } from "../random.ts";
import { type Color, mix } from "./color.ts";

/** The colours of one picture, chosen to harmonize. */
export interface Palette {
  readonly sky: readonly [top: Color, middle: Color, bottom: Color];
  readonly far: Color;
  readonly mid: Color;
  readonly near: Color;
  readonly accent: Color;
  readonly light: Color;
  readonly isDark: boolean;
}

export type Mood = "day" | "dawn" | "sunset" | "night" | "neon" | "forest" | "warm" | "winter" | "calm" | "candy";

const PALETTES: Readonly<Record<Mood, Palette>> = {
  day: {
    sky: ["#7cc3ea", "#c3e6f0", "#fdf3dd"],
    far: "#9cc6d3",
    mid: "#5f9ea4",
    near: "#2b6368",
    accent: "#f26b5b",
    light: "#fffaf0",
    isDark: false,
  },
  dawn: {
    sky: ["#7d9bd1", "#eab6bd", "#ffe2c0"],
    far: "#b9a0bd",
    mid: "#7f7ea8",
    near: "#3b4775",
    accent: "#f2826a",
    light: "#fff2e2",
    isDark: false,
  },
  sunset: {
    sky: ["#41306b", "#d9596f", "#ffc47c"],
    far: "#99507a",
    mid: "#643567",
    near: "#2b1d43",
    accent: "#ffcf5c",
    light: "#ffe7c4",
    isDark: true,
  },
  night: {
    sky: ["#0a1230", "#1b2d5f", "#46619a"],
    far: "#30457d",
    mid: "#1c2b57",
    near: "#0c1532",
    accent: "#ffd685",
    light: "#eaf1ff",
    isDark: true,
  },
  neon: {
    sky: ["#140c33", "#45157a", "#e3428f"],
    far: "#4a2286",
    mid: "#2b1259",
    near: "#12082d",
    accent: "#35e4dc",
    light: "#ffe3f4",
    isDark: true,
  },
  forest: {
    sky: ["#a9cfb4", "#dcebcf", "#f8f3d9"],
    far: "#93b894",
    mid: "#558a67",
    near: "#234b3a",
    accent: "#e98b4a",
    light: "#fdf9e8",
    isDark: false,
  },
  warm: {
    sky: ["#f0b27a", "#f8d5a4", "#fdeed3"],
    far: "#e2a877",
    mid: "#c27a52",
    near: "#7a3f35",
    accent: "#2f7f86",
    light: "#fff6e6",
    isDark: false,
  },
  winter: {
    sky: ["#a9c4de", "#d9e6f1", "#f6f8fa"],
    far: "#b8cbdd",
    mid: "#86a3c0",
    near: "#3f5f82",
    accent: "#e0625d",
    light: "#ffffff",
    isDark: false,
  },
  calm: {
    sky: ["#d8d6e8", "#ece6e6", "#f8f1e7"],
    far: "#c5bfd0",
    mid: "#8f92ac",
    near: "#4b5474",
    accent: "#e08a76",
    light: "#fffaf5",
    isDark: false,
  },
  candy: {
    sky: ["#8fb7f0", "#dcbdf0", "#ffd6d9"],
    far: "#c9a8dc",
    mid: "#937fc4",
    near: "#4a4288",
    accent: "#ff7d92",
    light: "#fff5fa",
    isDark: false,
  },
};

const MOOD_WORDS: readonly (readonly [Mood, RegExp])[] = [
  ["neon", /\b(neon|cyberpunk|synthwave|retrowave|futuristic|sci-?fi|club)\b/],
  ["night", /\b(night|midnight|moon|moonlit|stars?|starry|space|galaxy|dark|nocturnal)\b/],
  ["sunset", /\b(sunset|dusk|evening|twilight|golden hour|dramatic|epic|cinematic)\b/],
  ["dawn", /\b(dawn|sunrise|morning|dreamy|romantic)\b/],
  ["winter", /\b(snow|snowy|winter|ice|icy|frozen|arctic|cold)\b/],
  ["forest", /\b(forest|woods?|jungle|garden|spring|park|moss|nature|green)\b/],
  ["warm", /\b(desert|sand|dunes?|autumn|fall|coffee|cozy|cosy|warm|vintage|rustic)\b/],
  ["candy", /\b(candy|pastel|playful|cute|kawaii|toy|party|birthday)\b/],
  ["calm", /\b(calm|minimal|minimalist|clean|soft|studio|elegant|premium|luxury)\b/],
  ["day", /\b(day|daylight|sunny|sun|summer|noon|beach|sea|ocean|blue sky|bright)\b/],
];

const COLOR_WORDS: Readonly<Record<string, Color>> = {
  red: "#d9433f",
  crimson: "#b3243c",
  orange: "#ee8434",
  yellow: "#f2c230",
  gold: "#dba53a",
  golden: "#dba53a",
  green: "#3f9c62",
  emerald: "#1f8f6a",
  teal: "#248d90",
  turquoise: "#35b5ac",
  blue: "#2f6fc4",
  navy: "#25396f",
  purple: "#7a4fb5",
  violet: "#8256c6",
  pink: "#ee7fa4",
  magenta: "#cf3d92",
  brown: "#8a5a3c",
  black: "#24262d",
  white: "#f6f4ef",
  grey: "#8a8f98",
  gray: "#8a8f98",
  silver: "#b7bdc6",
  beige: "#dcc9a8",
};

/** The palette that the words name, else the usual one of the place, else a random one. */
export function paletteFor(prompt: string, usual: Mood | null, random: Random): Palette {
  const words = prompt.toLowerCase();
  const chance = pick<Mood>(random, ["day", "dawn", "calm", "candy", "warm", "sunset"]);
  return PALETTES[MOOD_WORDS.find(([, pattern]) => pattern.test(words))?.[0] ?? usual ?? chance];
}

/** The first colour that the words name, softened a little into the palette. */
export function namedColor(prompt: string, palette: Palette): Color | null {
  for (const word of prompt.toLowerCase().split(/[^a-z]+/u)) {
    const color = COLOR_WORDS[word];
    if (color !== undefined) return mix(color, palette.sky[1], 0.08);
  }
  return null;
}
