import { models } from "./models.ts";

/**
 * The models of the recipes, and all settings that depend on them. These models are from the local service;
 * `showrunner init --recipe NAME` writes models of the configured service.
 */
export const cast = {
  image: models.image,
  video: models.video,
  speech: models.speech,
  voiceClone: models.voiceClone,
  avatar: models.avatar,
  chat: "chat-1",
  /** A voice of the model `speech`. To list its voices, use `showrunner models voices speech-1`. */
  voice: "voice_3c8eab21-7d53-4f9c-8e32-8f405c6d7e03",
  /** Resolution and duration of a short clip (`clip`) and of a longer clip (`longClip`). */
  clip: { resolution: "720p", duration_ms: 3000 },
  longClip: { resolution: "720p", duration_ms: 5000 },
  silent: { generate_audio: false },
  portrait: { resolution: "720p" },
  /** Settings of a final version (`fine`) and of a draft (`coarse`). */
  fine: { image: { quality: "pro" }, clip: { quality: "pro", resolution: "1080p", duration_ms: 5000 } },
  coarse: { image: { quality: "standard" }, clip: { quality: "standard", resolution: "720p", duration_ms: 3000 } },
} as const;
