/** What a run is labelled with: to filter runs, to cap what they spend, to share slots between them. */
export type Tags = { readonly [key: string]: string };

/** A tag as it is stored and written in options: `key=value`. Keys have no `=`. */
export function tagText(key: string, value: string): string {
  return `${key}=${value}`;
}

/** All tags of a run as text, in the order of their keys. */
export function tagTexts(tags: Tags = {}): readonly string[] {
  return Object.keys(tags)
    .toSorted()
    .map((key) => tagText(key, tags[key]!));
}

/** Key of the tag that rows which were started together carry. */
export const BATCH_TAG = "batch-of";
/** Key of the tag that says where the row of a run was read from. */
export const SOURCE_TAG = "rows-of";

/** Of tags as text, those that people gave: which rows belong together is for budgets and filters. */
export function listedTags(tags: readonly string[]): readonly string[] {
  const prefixes = [BATCH_TAG, SOURCE_TAG].map((key) => tagText(key, ""));
  return tags.filter((tag) => !prefixes.some((key) => tag.startsWith(key)));
}
