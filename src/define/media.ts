/** The kinds of media that a model takes or makes. */
export type MediaKind = "image" | "video" | "audio";
