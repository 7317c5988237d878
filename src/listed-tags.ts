/** Key of the tag that rows which were started together carry. */
export const BATCH_TAG = "batch-of";

/** Of tags as text, `key=value`, those that people gave: which rows were started together is for budgets and filters. */
export function listedTags(tags: readonly string[]): readonly string[] {
  return tags.filter((tag) => !tag.startsWith(`${BATCH_TAG}=`));
}
