/** What a run returned, as name and path (or voice id), nested names joined by dots. */
export function listOutputs(outputs: unknown, name = ""): readonly { readonly name: string; readonly value: string }[] {
  if (typeof outputs !== "object" || outputs === null)
    return outputs === undefined || outputs === null ? [] : [{ name, value: String(outputs) }];
  const { path, voiceId } = outputs as { readonly path?: unknown; readonly voiceId?: unknown };
  if (typeof path === "string") return [{ name, value: path }];
  if (typeof voiceId === "string") return [{ name, value: voiceId }];
  return Object.entries(outputs).flatMap(([key, value]) => listOutputs(value, name === "" ? key : `${name}.${key}`));
}
