/** v2's language names, in lower case, and v3's codes for them. */
const CODES: Readonly<Record<string, string>> = {
  afrikaans: "af",
  albanian: "sq",
  amharic: "am",
  arabic: "ar",
  armenian: "hy",
  assamese: "as",
  azerbaijani: "az",
  basque: "eu",
  belarusian: "be",
  bengali: "bn",
  bosnian: "bs",
  bulgarian: "bg",
  burmese: "my",
  cantonese: "yue",
  catalan: "ca",
  chinese: "zh",
  croatian: "hr",
  czech: "cs",
  danish: "da",
  dutch: "nl",
  english: "en",
  esperanto: "eo",
  estonian: "et",
  farsi: "fa",
  filipino: "fil",
  finnish: "fi",
  flemish: "nl",
  french: "fr",
  galician: "gl",
  georgian: "ka",
  german: "de",
  greek: "el",
  gujarati: "gu",
  haitian: "ht",
  hausa: "ha",
  hebrew: "he",
  hindi: "hi",
  hungarian: "hu",
  icelandic: "is",
  indonesian: "id",
  irish: "ga",
  italian: "it",
  japanese: "ja",
  javanese: "jv",
  kannada: "kn",
  kazakh: "kk",
  khmer: "km",
  korean: "ko",
  kyrgyz: "ky",
  lao: "lo",
  latin: "la",
  latvian: "lv",
  lingala: "ln",
  lithuanian: "lt",
  luxembourgish: "lb",
  macedonian: "mk",
  malay: "ms",
  malayalam: "ml",
  maltese: "mt",
  mandarin: "zh",
  maori: "mi",
  marathi: "mr",
  mongolian: "mn",
  nepali: "ne",
  norwegian: "no",
  pashto: "ps",
  persian: "fa",
  polish: "pl",
  portuguese: "pt",
  punjabi: "pa",
  romanian: "ro",
  russian: "ru",
  serbian: "sr",
  sindhi: "sd",
  sinhala: "si",
  slovak: "sk",
  slovenian: "sl",
  somali: "so",
  spanish: "es",
  sundanese: "su",
  swahili: "sw",
  swedish: "sv",
  tagalog: "tl",
  tajik: "tg",
  tamil: "ta",
  tatar: "tt",
  telugu: "te",
  thai: "th",
  turkish: "tr",
  turkmen: "tk",
  ukrainian: "uk",
  urdu: "ur",
  uzbek: "uz",
  vietnamese: "vi",
  welsh: "cy",
  wolof: "wo",
  xhosa: "xh",
  yiddish: "yi",
  yoruba: "yo",
  zulu: "zu",
};

/** Regional varieties with their own code, by the code of their language. */
const VARIETIES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  zh: { yue: "yue", cantonese: "yue", wu: "wuu", shanghainese: "wuu", hakka: "hak", hokkien: "nan", "min nan": "nan" },
  no: { nynorsk: "nn", nn: "nn", bokmål: "nb", bokmal: "nb", nb: "nb" },
};

/** Names of varieties that need no language name. */
const ALONE: Readonly<Record<string, string>> = { nynorsk: "nn", bokmål: "nb", bokmal: "nb", yue: "yue" };

/**
 * The code of a language by its name, with or without a region: `Portuguese (Brazil)` is `pt`, `Chinese,Yue` is `yue`.
 * A code stays unchanged. Null for unknown names, and for a name of two languages.
 */
export function languageCode(name: string): string | null {
  const plain = name.trim().toLowerCase();
  const whole = codeOf(plain);
  if (whole !== null) return whole;
  const [first = "", ...rest] = plain.split(/[\s(),/]+/).filter(Boolean);
  const language = codeOf(first);
  if (language === null) return /^[a-z]{2,3}(?:[-_][a-z0-9]{2,8})*$/.test(plain) ? plain : null;
  const varieties = Object.hasOwn(VARIETIES, language) ? VARIETIES[language] : undefined;
  const variety = [rest.join(" "), ...rest].map((word) => own(varieties ?? {}, word)).find((code) => code !== null);
  if (variety !== undefined) return variety;
  return rest.some((word) => (codeOf(word) ?? language) !== language) ? null : language;
}

function codeOf(name: string): string | null {
  return own(CODES, name) ?? own(ALONE, name);
}

function own(codes: Readonly<Record<string, string>>, name: string): string | null {
  return Object.hasOwn(codes, name) ? (codes[name] ?? null) : null;
}
