type Fields = { readonly [field: string]: unknown };

/** What a model was called with. */
export interface Call {
  readonly options: Fields;
  /** It only starts work: whatever it requests comes before that, or is it. Else it may poll and download too. */
  readonly isStart: boolean;
}

/** What packages call the words of a request. */
const WORDS = new Set(["prompt", "text", "input"]);
/** Words so long, of several, are no part of an id, a state or an address, whatever their field is called; characters. */
const LONG_WORDS = 20;
/** So much of a medium as Base64 tells it from anything that names an operation, characters. */
const MEDIUM_CHARACTERS = 64;

/**
 * Whether a body is of the request that asks for the work, or of one before it: it says what only they have to say. Later ones
 * that poll or download have no body, or, as Vertex AI has it, one that names the operation.
 */
export function asksForWork(body: unknown, { options, isStart }: Call): boolean {
  if (typeof body !== "object" || body === null || Object.keys(body).length === 0) return false;
  const { prompt, text } = options;
  const words = prompt ?? text;
  if (typeof words === "string" && words !== "") {
    const isLong = words.length >= LONG_WORDS && /\s/.test(words.trim());
    return says(body, (text, field) => (isLong ? text.includes(words) : text === words && WORDS.has(field)));
  }
  if (isStart) return true;
  const media = mediaIn(options);
  return media.length > 0 && says(body, (text) => media.some((medium) => text.includes(medium)));
}

function says(value: unknown, is: (text: string, field: string) => boolean, field = ""): boolean {
  if (typeof value === "string") return is(value, field);
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return false;
  return Object.entries(value).some(([name, inner]) => says(inner, is, Array.isArray(value) ? field : name));
}

/** The beginning of each medium, as bodies quote it. */
function mediaIn(value: unknown): readonly string[] {
  if (typeof value !== "object" || value === null) return [];
  if (value instanceof Uint8Array) {
    const base64 = Buffer.from(value.subarray(0, MEDIUM_CHARACTERS)).toString("base64").slice(0, MEDIUM_CHARACTERS);
    return base64.length < MEDIUM_CHARACTERS ? [] : [base64];
  }
  return Object.values(value).flatMap(mediaIn);
}
