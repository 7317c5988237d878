/** The origin that a text names, such as `http://assets.corp:8080`; null where it is none, or an address with more to it. */
export function webOrigin(text: string): string | null {
  if (!URL.canParse(text)) return null;
  const { protocol, origin, href } = new URL(text);
  return (protocol === "http:" || protocol === "https:") && href === `${origin}/` ? origin : null;
}
