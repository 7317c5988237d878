/** A JSON value, its long texts broken into lines; everything is text, whatever it looks like. */
export function Data({ value }: { readonly value: unknown }) {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return <pre>{text(value)}</pre>;
  return (
    <dl class="data">
      {Object.entries(value).map(([name, item]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{text(item)}</dd>
        </div>
      ))}
    </dl>
  );
}

function text(value: unknown): string {
  if (typeof value === "string") return value;
  const ref = (value as { readonly $ref?: { readonly step?: unknown } } | null)?.$ref;
  if (ref?.step !== undefined) return `→ ${String(ref.step)}`;
  return JSON.stringify(value, null, 2);
}
