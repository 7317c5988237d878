import { ShowrunnerError } from "../../core/kit/errors.ts";

/**
 * A step of a film failed. `FFMPEG_MISSING`: ffmpeg, or a feature of it, is missing. `CLIP_DAMAGED`: an input file is
 * incomplete or has no usable content. `CLIP_FORMAT`: its format is not supported. `CLIP_TOO_LONG`: it is longer than
 * `mostSeconds`, has too many frames, or shows one for too long. `FFMPEG_FAILED`: ffmpeg ended with an error.
 * `FFMPEG_TIMEOUT`, `FFMPEG_TOO_LARGE`: it exceeded a limit. `FFMPEG_STOPPED`: the run was stopped.
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
