export { FilmError } from "./ffmpeg/film-error.ts";
export { ffmpegSummary } from "./ffmpeg/summary.ts";
