/** An AVIF of 60 bytes whose second box has a 64-bit size of 0. */
export const LOOPING_AVIF = Buffer.from(
  [
    "0000001866747970617669660000000061766966",
    "6d696631",
    "000000016d646174",
    "0000000000000000",
    "00".repeat(20),
  ].join(""),
  "hex",
);

/** A WebM of 96 bytes: a segment of unknown size that contains only starts of padding. */
export const LOOPING_WEBM = Buffer.from(
  ["1a45dfa38f42868101428581014282847765626d18538067", "ff".repeat(8), "ec".repeat(64)].join(""),
  "hex",
);
