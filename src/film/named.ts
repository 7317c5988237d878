import { FilmError } from "./ffmpeg/film-error.ts";

/** A film with its subtitles, as returned by `caption`. */
interface Subtitled {
  readonly film: object;
  readonly srt?: object;
  readonly vtt?: object;
}

type Named<H> = H extends Subtitled ? Extract<H["film" | "srt" | "vtt"], object> : H;

/**
 * Names a pipeline's files with a template: `"{client}-{sku}-{format}"` may give `acme-mug-9x16`. `{format}` is the key
 * of each handle, with `x` in place of the colon. A film from `caption` and its subtitles get the same name, so that
 * players find the subtitles.
 * @throws FilmError for a field without a value
 */
export function named<H>(
  template: string,
  values: { readonly [field: string]: string | number },
  handles: { readonly [format: string]: H },
): { readonly [name: string]: Named<H> } {
  const entries = Object.entries(handles).map(([key, handle]) => {
    const all: { readonly [field: string]: string | number } = { ...values, format: key.replace(":", "x") };
    const name = template.replace(/\{(\w+)\}/g, (_, field: string) => {
      const value = Object.hasOwn(all, field) ? String(all[field]) : "";
      if (value !== "") return plain(value);
      const known = Object.keys(all).sort().join(", ");
      throw new FilmError(
        "FILM_INPUT",
        `the template ${JSON.stringify(template)} uses {${field}}, which has no value; the known fields are ${known}`,
      );
    });
    return [name, handle] as const;
  });
  const names = new Set(entries.map(([name]) => name));
  if (names.size === entries.length) return Object.fromEntries(entries.flatMap(withSubtitles<H>));
  throw new FilmError(
    "FILM_INPUT",
    `the template ${JSON.stringify(template)} gives several files the same name; add {format}`,
  );
}

function withSubtitles<H>([name, given]: readonly [string, H]): readonly (readonly [string, Named<H>])[] {
  const { film, srt, vtt } = given as Partial<Record<keyof Subtitled, Named<H>>>;
  if (film === undefined) return [[name, given as Named<H>]];
  const subtitles = Object.entries({ srt, vtt }).flatMap(([ending, one]) =>
    one === undefined ? [] : [[`${name}.${ending}`, one] as const],
  );
  return [[name, film], ...subtitles];
}

function plain(value: string): string {
  return value
    .normalize("NFC")
    .trim()
    .replace(/[^\p{L}\p{N}\p{M}._-]+/gu, "-");
}
