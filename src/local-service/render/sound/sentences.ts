const LONGEST = 280;

/**
 * The text in pieces that can be said one after the other: sentences, and where one is very long, its clauses. Only what
 * an English synthesizer can read is kept; accents are dropped, typographic quotes and dashes become plain ones.
 */
export function sentencesOf(text: string): string[] {
  return plain(text)
    .split(/(?<=[.!?;:])\s+|\n+/u)
    .flatMap((sentence) => shorten(sentence.trim()))
    .filter((sentence) => /[a-z0-9]/iu.test(sentence));
}

function plain(text: string): string {
  return text
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .replace(/[‘’‚′]/gu, "'")
    .replace(/[“”„«»]/gu, '"')
    .replace(/[–—―]/gu, ", ")
    .replace(/…/gu, "...")
    .replace(/[^\x20-\x7e\n]/gu, " ")
    .replace(/ +/gu, " ");
}

function shorten(sentence: string): string[] {
  if (sentence.length <= LONGEST) return [sentence];
  const comma = sentence.lastIndexOf(",", LONGEST);
  const space = sentence.lastIndexOf(" ", LONGEST);
  const cut = comma > LONGEST / 3 ? comma + 1 : space > 0 ? space : LONGEST;
  return [sentence.slice(0, cut).trim(), ...shorten(sentence.slice(cut).trim())];
}
