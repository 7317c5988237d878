/** Names that Windows keeps for devices, with or without an ending. */
const reserved = /^(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(\..*)?$/i;
const longestBytes = 120;

/**
 * A file name that every system takes and that names no other folder: separators, control and reserved characters
 * become `_`, device names get a prefix, dots and blanks at the end go, and what is too long is cut before its ending.
 * The empty name becomes `file`.
 */
export function safeFileName(wanted: string): string {
  const replaced = wanted
    .normalize("NFC")
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what must go
    .replace(/[\u0000-\u001f\u007f-\u009f<>:"/\\|?*\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, "_")
    .trimStart()
    .replace(/^\.+/, (dots) => "_".repeat(dots.length));
  const shortened = shorten(replaced).replace(/[. ]+$/, "");
  if (shortened === "") return "file";
  return reserved.test(shortened) ? `_${shortened}` : shortened;
}

function shorten(name: string): string {
  if (Buffer.byteLength(name) <= longestBytes) return name;
  const ending = /\.[A-Za-z0-9]{1,8}$/.exec(name)?.[0] ?? "";
  let stem = "";
  let sizeBytes = Buffer.byteLength(ending);
  for (const character of name.slice(0, name.length - ending.length)) {
    sizeBytes += Buffer.byteLength(character);
    if (sizeBytes > longestBytes) break;
    stem += character;
  }
  return stem + ending;
}
