import mime from "mime";

const preferred: { readonly [contentType: string]: string } = { "audio/mpeg": "mp3", "audio/mp4": "m4a" };

/** The usual file ending of a content type with its dot; empty when there is none. */
export function fileExtension(contentType: string): string {
  const bare = contentType.split(";")[0]!.trim().toLowerCase();
  const found = preferred[bare] ?? mime.getExtension(bare);
  return found === null || found === undefined ? "" : `.${found}`;
}
