import { pick, type Random, randomFrom } from "../random.ts";
import type { Color } from "./color.ts";
import { namedColor, type Palette, paletteFor } from "./palette.ts";

export type Setting = "mountain" | "sea" | "city" | "forest" | "desert" | "hills" | "studio" | "space";
export type Subject =
  | "face"
  | "cat"
  | "dog"
  | "bird"
  | "car"
  | "boat"
  | "rocket"
  | "balloon"
  | "bottle"
  | "cup"
  | "house"
  | "flower"
  | "robot";
export type Weather = "clear" | "rain" | "snow" | "fog" | "sparks";

/** What a picture shows, derived from the prompt's words; random draws fill in the rest. */
export interface Brief {
  readonly prompt: string;
  readonly setting: Setting;
  readonly subject: Subject | null;
  readonly weather: Weather;
  readonly palette: Palette;
  /** Colour of the subject: a colour named in the prompt, else the palette's accent. */
  readonly tint: Color;
  /** The random source of every further choice. */
  readonly key: string;
}

const SUBJECTS: readonly (readonly [Subject, RegExp])[] = [
  ["robot", /\b(robots?|androids?|droid)\b/],
  ["cat", /\b(cats?|kittens?|kitty)\b/],
  ["dog", /\b(dogs?|pupp(y|ies)|corgi|retriever)\b/],
  [
    "face",
    /\b(portraits?|faces?|headshots?|person|people|man|men|wom[ae]n|girl|boy|lady|guy|child|kid|presenter|narrator|host|actor|actress|model|doctor|teacher|chef|king|queen|selfie|avatar|character|founder|barista|spokesperson|speaker|talks?|talking)\b/,
  ],
  ["car", /\b(cars?|vehicle|sedan|taxi|truck|sports ?car|road trip)\b/],
  ["boat", /\b(boats?|ships?|sail(boat|ing)?|yacht|vessel)\b/],
  ["rocket", /\b(rockets?|spaceship|spacecraft|launch|shuttle)\b/],
  ["balloon", /\b(balloons?|airship|festival)\b/],
  ["bird", /\b(birds?|gulls?|seagulls?|eagle|dove|crane|swallow)\b/],
  ["cup", /\b(coffee|tea|cup|mug|espresso|latte|cappuccino)\b/],
  [
    "bottle",
    /\b(products?|bottles?|perfume|serum|cosmetics?|lotion|packshot|drink|can|shampoo|fragrance|sneakers?|shoes?|watch)\b/,
  ],
  ["flower", /\b(flowers?|rose|tulips?|bouquet|blossom|plants?|daisy|sunflowers?)\b/],
  ["house", /\b(house|home|cabin|cottage|barn|hut|lighthouse)\b/],
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

/** Derives the brief. Equal prompt, seed and index always give the same brief. */
export function readBrief(prompt: string, seed: number, index: number): Brief {
  const words = prompt.toLowerCase();
  const key = `${prompt}\u0001${seed}\u0001${index}`;
  const random = randomFrom(key, "brief");
  const subject = firstMatch(SUBJECTS, words);
  const setting = firstMatch(SETTINGS, words) ?? openSetting(subject, random);
  const palette = paletteFor(prompt, setting === "space" ? "night" : null, random);
  const tint = namedColor(prompt, palette) ?? palette.accent;
  return { prompt, setting, subject, weather: firstMatch(WEATHER, words) ?? "clear", palette, tint, key };
}

function openSetting(subject: Subject | null, random: Random): Setting {
  switch (subject) {
    case "boat":
      return "sea";
    case "rocket":
      return "space";
    case "car":
      return pick<Setting>(random, ["city", "hills", "desert"]);
    case "face":
    case "bottle":
    case "cup":
    case "robot":
    case "cat":
    case "dog":
      return "studio";
    case "bird":
      return pick<Setting>(random, ["sea", "mountain"]);
    default:
      return pick<Setting>(random, ["mountain", "hills", "sea", "forest"]);
  }
}

function firstMatch<T>(table: readonly (readonly [T, RegExp])[], words: string): T | null {
  return table.find(([, pattern]) => pattern.test(words))?.[0] ?? null;
}
