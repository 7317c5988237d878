/** One server-sent event. */
export interface SentEvent {
  readonly type: string;
  readonly data: string;
  readonly id: string | null;
}

/** Splits the text of a stream, as it comes, into its events. */
export function eventReader(): (text: string) => readonly SentEvent[] {
  let rest = "";
  return (text) => {
    rest += text;
    const blocks = rest.split("\n\n");
    rest = blocks.pop()!;
    return blocks.flatMap((block) => read(block) ?? []);
  };
}

function read(block: string): SentEvent | null {
  const fields = new Map<string, string>();
  for (const line of block.split("\n")) {
    const [, name = "", value = ""] = /^(\w+): ?(.*)$/.exec(line) ?? [];
    fields.set(name, fields.has(name) ? `${fields.get(name)}\n${value}` : value);
  }
  const data = fields.get("data");
  return data === undefined ? null : { type: fields.get("event") ?? "message", data, id: fields.get("id") ?? null };
}
