/** Labels of a run, for filters, caps and shared slots. */
export type Tags = { readonly [key: string]: string };

export function tagText(key: string, value: string): string {
  return `${key}=${value}`;
}

export function tagTexts(tags: Tags = {}): readonly string[] {
  return Object.keys(tags)
    .toSorted()
    .map((key) => tagText(key, tags[key]!));
}

export const BATCH_TAG = "batch-of";
/** Key of the tag that names the source of a run's input row. */
export const SOURCE_TAG = "rows-of";

export function listedTags(tags: readonly string[]): readonly string[] {
  const prefixes = [BATCH_TAG, SOURCE_TAG].map((key) => tagText(key, ""));
  return tags.filter((tag) => !prefixes.some((key) => tag.startsWith(key)));
}
