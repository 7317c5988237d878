import { parseJson } from "./json-text.ts";

/**
 * JSON of a flow in which templates stand, within strings or in place of values. Templates outside of strings become
 * strings; quotes within a template need no escape.
 */
export function parseTemplatedJson(given: string): { readonly value: unknown } | { readonly problem: string } {
  const text = withoutStringify(given.trim().replace(/^=/, ""));
  const parsed = parseJson(quoted(text));
  if ("value" in parsed) {
    // One level of JSON within JSON is how some tools keep it.
    return typeof parsed.value === "string" && /^\s*[{[]/.test(parsed.value) && !/^\s*\{\{/.test(parsed.value)
      ? parseTemplatedJson(parsed.value)
      : typeof parsed.value === "string"
        ? { problem: "its body is computed by an expression; write the body out as JSON" }
        : parsed;
  }
  const { line, column, message } = parsed.mistake;
  return { problem: `its body is not valid JSON at line ${line}, column ${column} of the body: ${message}` };
}

/** `{{ JSON.stringify({ … }) }}` holds its JSON in plain sight. */
function withoutStringify(text: string): string {
  const [, inner] = /^\{\{\s*(?:JSON\.stringify\(\s*)?(\{[\s\S]*\})\s*\)?\s*\}\}$/.exec(text) ?? [];
  return inner ?? text;
}

function quoted(text: string): string {
  let result = "";
  let isInString = false;
  const lastClose = text.lastIndexOf("}}");
  for (let at = 0; at < text.length; at++) {
    const end = at < lastClose && text.startsWith("{{", at) ? text.indexOf("}}", at) : -1;
    if (end > at && isTemplateHere(text, at, isInString)) {
      const template = JSON.stringify(text.slice(at, end + 2));
      result += isInString ? template.slice(1, -1) : template;
      at = end + 1;
      continue;
    }
    const character = text[at] ?? "";
    if (character === "\\" && isInString) {
      result += character + (text[++at] ?? "");
      continue;
    }
    if (character === '"') isInString = !isInString;
    // A line break within a string is a slip that these tools let pass.
    result += isInString && character === "\n" ? "\\n" : character;
  }
  return result;
}

/** Outside of strings two braces begin a template unless a key follows. */
function isTemplateHere(text: string, at: number, isInString: boolean): boolean {
  return isInString || !/^\{\{\s*"/.test(text.slice(at, at + 40));
}
