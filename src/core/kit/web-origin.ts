/** Returns a web origin such as `http://assets.corp:8080`; null if the text is not one or has a path. */
export function webOrigin(text: string): string | null {
  if (!URL.canParse(text)) return null;
  const { protocol, origin, href } = new URL(text);
  return (protocol === "http:" || protocol === "https:") && href === `${origin}/` ? origin : null;
}
