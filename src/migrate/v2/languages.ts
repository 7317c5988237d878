/** Names that v2 takes, beside the English ones that the platform knows. */
const ALIASES: Readonly<Record<string, string>> = {
  bengali: "bn",
  cantonese: "yue",
  farsi: "fa",
  filipino: "fil",
  flemish: "nl",
  haitian: "ht",
  mandarin: "zh",
  maori: "mi",
  tagalog: "tl",
  // Varieties whose names need no name of a language.
  nynorsk: "nn",
  bokmål: "nb",
  bokmal: "nb",
  yue: "yue",
};

/** English names in lower case, with the two-letter codes that are still in use. */
function platformCodes(): ReadonlyMap<string, string> {
  const names = new Intl.DisplayNames("en", { type: "language", fallback: "none" });
  const letters = [..."abcdefghijklmnopqrstuvwxyz"];
  const codes = letters.flatMap((first) => letters.map((second) => first + second));
  const current = codes.filter((code) => Intl.getCanonicalLocales(code)[0] === code);
  return new Map(current.flatMap((code) => [[names.of(code)?.toLowerCase() ?? code, code] as const]));
}

let codes: ReadonlyMap<string, string> | null = null;

/** Regional varieties with their own code, by the code of their language. */
const VARIETIES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  zh: { yue: "yue", cantonese: "yue", wu: "wuu", shanghainese: "wuu", hakka: "hak", hokkien: "nan", "min nan": "nan" },
  no: { nynorsk: "nn", nn: "nn", bokmål: "nb", bokmal: "nb", nb: "nb" },
};

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
  codes ??= platformCodes();
  return own(ALIASES, name) ?? codes.get(name) ?? null;
}

function own(names: Readonly<Record<string, string>>, name: string): string | null {
  return Object.hasOwn(names, name) ? (names[name] ?? null) : null;
}
