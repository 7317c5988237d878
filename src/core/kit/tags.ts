import { InvalidOptionError } from "./errors.ts";

/** Labels of a run, used to filter runs, to limit their spending and to group them for fair scheduling. */
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

const MOST_TAGS = 8;
const KEY = /^[A-Za-z][A-Za-z0-9._-]{0,39}$/;
/** Matches a tag's value: up to 80 printable characters, with no space at either end. */
const VALUE = /^[^\p{C}\p{Z}](?:[^\p{C}]{0,78}[^\p{C}\p{Z}])?$/u;
/** A wildcard that matches any value. A cap on the tag `team=*` applies to each team separately. */
export const ANY_VALUE = "*";

export function checkTags(tags: Tags | undefined, option = "tags"): Tags {
  const entries = Object.entries(tags ?? {});
  if (entries.length > MOST_TAGS) {
    const added = entries.filter(([key]) => key === BATCH_TAG || key === SOURCE_TAG).length;
    const why = added === 0 ? "" : ` Showrunner itself adds ${added} of these tags to each row's run.`;
    throw new InvalidOptionError(
      option,
      `${entries.length} tags are too many; a run can have at most ${MOST_TAGS}.${why}`,
    );
  }
  for (const [key, value] of entries) checkTag(key, value, option);
  return Object.fromEntries(entries.toSorted(([first], [second]) => (first < second ? -1 : 1)));
}

export function parseTag(
  text: string,
  option: string,
  { anyValue = false } = {},
): { readonly key: string; readonly value: string } {
  const at = text.indexOf("=");
  if (at < 0)
    throw new InvalidOptionError(
      option,
      `${JSON.stringify(text)} is not a tag; write tags as key=value, such as team=video.`,
    );
  const [key, value] = [text.slice(0, at), text.slice(at + 1)];
  if (!anyValue || value !== ANY_VALUE) checkTag(key, value, option);
  else if (!KEY.test(key)) throw badKey(key, option);
  return { key, value };
}

function checkTag(key: string, value: string, option: string): void {
  if (!KEY.test(key)) throw badKey(key, option);
  if (typeof value === "string" && value !== ANY_VALUE && VALUE.test(value)) return;
  throw new InvalidOptionError(
    option,
    `${JSON.stringify(value)} is not a valid value for the tag ${key}; use 1 to 80 printable characters, without spaces at either end. "*" alone is reserved.`,
  );
}

function badKey(key: string, option: string): InvalidOptionError {
  return new InvalidOptionError(
    option,
    `${JSON.stringify(key)} is not a valid tag key; use a letter, then up to 39 letters, digits, ".", "_" and "-".`,
  );
}
