/** Which bytes to send: all, a part, or none because the range lies outside. */
export type ByteRange =
  | { readonly is: "whole" }
  | { readonly is: "part"; readonly start: number; readonly end: number }
  | { readonly is: "unsatisfiable" };

const WHOLE: ByteRange = { is: "whole" };

/** Reads a Range header for a file of `size` bytes. Several ranges, and other units, are answered with the whole. */
export function parseRange(header: string | null, size: number): ByteRange {
  const match = header === null ? null : /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header.replaceAll(" ", ""));
  if (!match) return WHOLE;
  const [, first = "", last = ""] = match;
  if (first === "") return suffix(last, size);
  const start = Number(first);
  const end = last === "" ? size - 1 : Math.min(Number(last), size - 1);
  if (last !== "" && Number(last) < start) return WHOLE;
  return start >= size ? { is: "unsatisfiable" } : { is: "part", start, end };
}

function suffix(last: string, size: number): ByteRange {
  if (last === "") return WHOLE;
  const length = Math.min(Number(last), size);
  return length === 0 ? { is: "unsatisfiable" } : { is: "part", start: size - length, end: size - 1 };
}
