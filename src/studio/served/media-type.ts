/** Other types could contain scripts, so browsers download them. */
const SHOWN: ReadonlySet<string> = new Set([
  "image/png",
  "image/jpeg",
  "image/webp",
  "image/gif",
  "image/avif",
  "video/mp4",
  "video/webm",
  "video/quicktime",
  "audio/mpeg",
  "audio/wav",
  "audio/x-wav",
  "audio/wave",
  "audio/mp4",
  "audio/x-m4a",
  "audio/vnd.wave",
  "audio/webm",
  "audio/aac",
  "audio/ogg",
  "audio/flac",
]);

export interface MediaHeaders {
  readonly contentType: string;
  readonly disposition: "inline" | "attachment";
}

export function mediaHeaders(declared: string | null): MediaHeaders {
  const type = essence(declared);
  if (SHOWN.has(type)) return { contentType: type, disposition: "inline" };
  return { contentType: "application/octet-stream", disposition: "attachment" };
}

export function kindOfType(declared: string | null): "image" | "video" | "audio" | "other" {
  const type = essence(declared);
  if (!SHOWN.has(type)) return "other";
  return type.slice(0, type.indexOf("/")) as "image" | "video" | "audio";
}

function essence(declared: string | null): string {
  return (declared ?? "").split(";", 1)[0]!.trim().toLowerCase();
}
