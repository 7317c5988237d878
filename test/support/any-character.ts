import fc from "fast-check";

const [FIRST_SURROGATE, SURROGATES, LAST] = [0xd800, 0x800, 0x10ffff];

/** Any Unicode character, as a unit of strings. fast-check's own "binary" first builds a table with a million entries. */
export const anyCharacter: fc.Arbitrary<string> = fc.nat(LAST - SURROGATES).map(
  (at) => String.fromCodePoint(at < FIRST_SURROGATE ? at : at + SURROGATES),
  (character) => {
    const code = typeof character === "string" ? character.codePointAt(0) : undefined;
    if (code === undefined || String.fromCodePoint(code) !== character) throw new Error("not one character");
    return code < FIRST_SURROGATE ? code : code - SURROGATES;
  },
);
