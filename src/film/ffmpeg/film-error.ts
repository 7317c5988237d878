/**
 * Why a step of a film failed. `FFMPEG_MISSING`: there is no ffmpeg, or it lacks something; `CLIP_DAMAGED`: a file that was
 * given is not whole, or holds nothing to take; `CLIP_FORMAT`: it is of a format that is not read; `CLIP_TOO_LONG`: one is longer than `mostSeconds` allows, has so many frames, or shows
 * one for too long; `FFMPEG_FAILED`: it ended with an error; `FFMPEG_TIMEOUT`, `FFMPEG_TOO_LARGE`: it was
 * ended at a limit; `FFMPEG_STOPPED`: the run was.
 */
export class FilmError extends Error {
  readonly code:
    | "FFMPEG_MISSING"
    | "CLIP_DAMAGED"
    | "CLIP_FORMAT"
    | "CLIP_TOO_LONG"
    | "FFMPEG_FAILED"
    | "FFMPEG_TIMEOUT"
    | "FFMPEG_TOO_LARGE"
    | "FFMPEG_STOPPED"
    | "FILM_INPUT";

  constructor(code: FilmError["code"], message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "FilmError";
    this.code = code;
  }
}
