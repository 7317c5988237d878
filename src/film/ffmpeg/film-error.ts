import { ShowrunnerError } from "../../core/kit/errors.ts";

/**
 * A film step failed. `FFMPEG_MISSING`: ffmpeg, or one of its features, is missing. `CLIP_DAMAGED`: an input file is
 * incomplete or has no usable content. `CLIP_FORMAT`: the format of an input file is not supported. `CLIP_TOO_LONG`: an
 * input file is longer than `mostSeconds`, or has too many frames or too long a frame. `FFMPEG_FAILED`: ffmpeg exited
 * with an error. `FFMPEG_TIMEOUT`, `FFMPEG_TOO_LARGE`: a limit was exceeded. `FFMPEG_STOPPED`: the run was stopped.
 * `FILM_INPUT`: an option or input cannot be used.
 */
export class FilmError extends ShowrunnerError {
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
    this.code = code;
  }
}
