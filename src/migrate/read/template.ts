export type TextPart = string | { readonly expression: string };

/** Single braces within longer text are literal. */
const SINGLE = /^\s*\{([A-Za-z_][\w.-]*)\}\s*$/;
const DOLLAR = /^\s*\$\{([A-Za-z_][\w.-]*)\}\s*$/;

export function isTemplate(value: unknown): value is string {
  return typeof value === "string" && (nextTemplate(value, 0) !== null || SINGLE.test(value) || DOLLAR.test(value));
}

/** Removes a leading `=`, which some flows put before expressions. */
export function textParts(value: string): readonly TextPart[] {
  const alone = SINGLE.exec(value) ?? DOLLAR.exec(value);
  if (alone !== null) return [{ expression: alone[1] ?? "" }];
  const text = value.startsWith("=") && nextTemplate(value, 0) !== null ? value.slice(1) : value;
  const parts: TextPart[] = [];
  let from = 0;
  for (let found = nextTemplate(text, 0); found !== null; found = nextTemplate(text, from)) {
    if (found.start > from) parts.push(text.slice(from, found.start));
    parts.push({ expression: text.slice(found.start + 2, found.end - 2).trim() });
    from = found.end;
  }
  if (from < text.length) parts.push(text.slice(from));
  return parts;
}

function nextTemplate(text: string, from: number): { readonly start: number; readonly end: number } | null {
  const start = text.indexOf("{{", from);
  const close = start < 0 ? -1 : text.indexOf("}}", start + 2);
  return close < 0 ? null : { start, end: close + 2 };
}

export function soleExpression(value: string): string | null {
  const parts = textParts(value).filter((part) => typeof part !== "string" || part.trim() !== "");
  const [only] = parts;
  return parts.length === 1 && typeof only === "object" ? only.expression : null;
}

export type Target =
  | { readonly to: "node"; readonly name: string; readonly rest: string }
  | { readonly to: "previous"; readonly rest: string }
  | { readonly to: "variable"; readonly name: string };

export function targetOf(expression: string): Target {
  const [, , quoted, after = ""] = /^\$(?:node|items)?[([]\s*(["'`])(.*?)\1\s*[)\]]([\s\S]*)$/.exec(expression) ?? [];
  if (quoted !== undefined) return { to: "node", name: quoted, rest: after };
  const [, named, numbered, rest = ""] = /^(?:(?:steps|nodes)\.([\w-]+)|(\d+))(\.[\s\S]*)$/.exec(expression) ?? [];
  const node = named ?? numbered;
  if (node !== undefined) return { to: "node", name: node, rest };
  const previous = /^\$json([\s\S]*)$/.exec(expression);
  if (previous !== null) return { to: "previous", rest: previous[1] ?? "" };
  return { to: "variable", name: expression };
}

/** Returns `asset_id` for `.item.json["asset_id"]`. */
export function lastName(rest: string): string {
  return [...rest.matchAll(/[A-Za-z_]\w*/g)].at(-1)?.[0] ?? "";
}
