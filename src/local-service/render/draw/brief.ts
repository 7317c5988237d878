import { pick, type Random, randomFrom } from "../random.ts";
import { type Color, mix } from "./brush.ts";

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

type Colors = [Color, Color, Color, Color, Color, Color, Color, Color];

function palette(colors: string, isDark: boolean): Palette {
  const [top, middle, bottom, far, mid, near, accent, light] = colors.split(" ") as Colors;
  return { sky: [top, middle, bottom], far, mid, near, accent, light, isDark };
}

const PALETTES: Readonly<Record<Mood, Palette>> = {
  day: palette("#7cc3ea #c3e6f0 #fdf3dd #9cc6d3 #5f9ea4 #2b6368 #f26b5b #fffaf0", false),
  dawn: palette("#7d9bd1 #eab6bd #ffe2c0 #b9a0bd #7f7ea8 #3b4775 #f2826a #fff2e2", false),
  sunset: palette("#41306b #d9596f #ffc47c #99507a #643567 #2b1d43 #ffcf5c #ffe7c4", true),
  night: palette("#0a1230 #1b2d5f #46619a #30457d #1c2b57 #0c1532 #ffd685 #eaf1ff", true),
  neon: palette("#140c33 #45157a #e3428f #4a2286 #2b1259 #12082d #35e4dc #ffe3f4", true),
  forest: palette("#a9cfb4 #dcebcf #f8f3d9 #93b894 #558a67 #234b3a #e98b4a #fdf9e8", false),
  warm: palette("#f0b27a #f8d5a4 #fdeed3 #e2a877 #c27a52 #7a3f35 #2f7f86 #fff6e6", false),
  winter: palette("#a9c4de #d9e6f1 #f6f8fa #b8cbdd #86a3c0 #3f5f82 #e0625d #ffffff", false),
  calm: palette("#d8d6e8 #ece6e6 #f8f1e7 #c5bfd0 #8f92ac #4b5474 #e08a76 #fffaf5", false),
  candy: palette("#8fb7f0 #dcbdf0 #ffd6d9 #c9a8dc #937fc4 #4a4288 #ff7d92 #fff5fa", false),
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

const COLOR_WORDS = new Map(
  `red #d9433f, crimson #b3243c, orange #ee8434, yellow #f2c230, gold #dba53a, golden #dba53a, green #3f9c62,
  emerald #1f8f6a, teal #248d90, turquoise #35b5ac, blue #2f6fc4, navy #25396f, purple #7a4fb5, violet #8256c6,
  pink #ee7fa4, magenta #cf3d92, brown #8a5a3c, black #24262d, white #f6f4ef, grey #8a8f98, gray #8a8f98,
  silver #b7bdc6, beige #dcc9a8`
    .split(/,\s+/)
    .map((pair) => pair.split(" ") as [string, Color]),
);

function paletteFor(words: string, usual: Mood | null, random: Random): Palette {
  const chance = pick<Mood>(random, ["day", "dawn", "calm", "candy", "warm", "sunset"]);
  return PALETTES[firstMatch(MOOD_WORDS, words) ?? usual ?? chance];
}

function namedColor(words: string, palette: Palette): Color | null {
  const named = words.split(/[^a-z]+/u).flatMap((word) => COLOR_WORDS.get(word) ?? []);
  return named[0] === undefined ? null : mix(named[0], palette.sky[1], 0.08);
}

export type Setting = "mountain" | "sea" | "city" | "forest" | "desert" | "hills" | "studio" | "space";
export type Subject =
  | ("face" | "cat" | "dog" | "bird" | "robot")
  | ("car" | "boat" | "rocket" | "balloon" | "bottle" | "cup" | "house" | "flower");

export type Weather = "clear" | "rain" | "snow" | "fog" | "sparks";

export interface Brief {
  readonly prompt: string;
  readonly setting: Setting;
  readonly subject: Subject | null;
  readonly weather: Weather;
  readonly palette: Palette;
  readonly tint: Color;
  readonly key: string;
}

type Row = readonly [Subject, RegExp, usual: readonly [Setting, ...Setting[]]];

const OPEN_LAND = ["mountain", "hills", "sea", "forest"] as const;

const SUBJECTS: readonly Row[] = [
  ["robot", /\b(robots?|androids?|droid)\b/, ["studio"]],
  ["cat", /\b(cats?|kittens?|kitty)\b/, ["studio"]],
  ["dog", /\b(dogs?|pupp(y|ies)|corgi|retriever)\b/, ["studio"]],
  [
    "face",
    /\b(portraits?|faces?|headshots?|person|people|man|men|wom[ae]n|girl|boy|lady|guy|child|kid|presenter|narrator|host|actor|actress|model|doctor|teacher|chef|king|queen|selfie|avatar|character|founder|barista|spokesperson|speaker|talks?|talking)\b/,
    ["studio"],
  ],
  ["car", /\b(cars?|vehicle|sedan|taxi|truck|sports ?car|road trip)\b/, ["city", "hills", "desert"]],
  ["boat", /\b(boats?|ships?|ferry|ferries|sail(boat|ing)?|yacht|vessel)\b/, ["sea"]],
  ["rocket", /\b(rockets?|spaceship|spacecraft|launch|shuttle)\b/, ["space"]],
  ["balloon", /\b(balloons?|airship|festival)\b/, OPEN_LAND],
  ["bird", /\b(birds?|gulls?|seagulls?|eagle|dove|crane|swallow)\b/, ["sea", "mountain"]],
  ["cup", /\b(coffee|tea|cup|mug|espresso|latte|cappuccino)\b/, ["studio"]],
  [
    "bottle",
    /\b(products?|bottles?|perfume|serum|cosmetics?|lotion|packshot|drink|can|shampoo|fragrance|sneakers?|shoes?|watch)\b/,
    ["studio"],
  ],
  ["flower", /\b(flowers?|rose|tulips?|bouquet|blossom|plants?|daisy|sunflowers?)\b/, OPEN_LAND],
  ["house", /\b(house|home|cabin|cottage|barn|hut|lighthouse)\b/, OPEN_LAND],
];

const SETTINGS: readonly (readonly [Setting, RegExp])[] = [
  ["space", /\b(space|galaxy|planets?|cosmos|orbit|nebula|astronaut)\b/],
  ["sea", /\b(seas?|ocean|beach|waves?|coast|island|lake|harbou?r|surf|water|shore)\b/],
  ["city", /\b(city|cities|street|skyline|urban|town|skyscrapers?|tokyo|new york|paris|london|downtown|rooftop)\b/],
  ["mountain", /\b(mountains?|peaks?|alps|summit|cliff|canyon|volcano|valley|hike)\b/],
  ["forest", /\b(forest|woods|jungle|trees?|pines?|park)\b/],
  ["desert", /\b(desert|dunes?|sahara|sand|savanna)\b/],
  ["studio", /\b(studio|products?|packshot|minimal|table|desk|kitchen|room|office|perfume|bottle|serum)\b/],
  ["hills", /\b(hills?|meadow|field|countryside|farm|grass|garden|landscape|village)\b/],
];

const WEATHER: readonly (readonly [Weather, RegExp])[] = [
  ["rain", /\b(rain|rainy|storm|stormy|drizzle)\b/],
  ["snow", /\b(snow|snowy|snowfall|blizzard|winter|christmas)\b/],
  ["fog", /\b(fog|foggy|mist|misty|haze|hazy)\b/],
  ["sparks", /\b(sparks?|embers?|fire|fireflies|magic|magical|glitter|confetti|celebration)\b/],
];

export function readBrief(prompt: string, seed: number, index: number): Brief {
  const words = prompt.toLowerCase();
  const key = `${prompt}\u0001${seed}\u0001${index}`;
  const random = randomFrom(key, "brief");
  const [subject = null, , usual = OPEN_LAND] = SUBJECTS.find(([, pattern]) => pattern.test(words)) ?? [];
  const setting = firstMatch(SETTINGS, words) ?? pick<Setting>(random, usual);
  const palette = paletteFor(words, setting === "space" ? "night" : null, random);
  const tint = namedColor(words, palette) ?? palette.accent;
  return { prompt, setting, subject, weather: firstMatch(WEATHER, words) ?? "clear", palette, tint, key };
}

function firstMatch<T>(table: readonly (readonly [T, RegExp])[], words: string): T | null {
  return table.find(([, pattern]) => pattern.test(words))?.[0] ?? null;
}
