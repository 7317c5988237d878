/** Image, video or audio, by MIME type. */
export function kindOfContent(contentType: string): "image" | "video" | "audio" {
  const kind = contentType.split("/")[0];
  return kind === "video" || kind === "audio" ? kind : "image";
}
