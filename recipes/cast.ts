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
  /** One of the voices of `speech`; `showrunner models voices speech-1` lists them. */
  voice: "voice_3c8eab21-7d53-4f9c-8e32-8f405c6d7e03",
  /** Resolution and duration of a short and a longer clip. */
  clip: { resolution: "720p", duration_ms: 3000 },
  longClip: { resolution: "720p", duration_ms: 5000 },
  /** A clip without sound. */
  silent: { generate_audio: false },
  /** Resolution of a talking portrait. */
  portrait: { resolution: "720p" },
  /** Settings of the final version and of its draft. */
  fine: { image: { quality: "pro" }, clip: { quality: "pro", resolution: "1080p", duration_ms: 5000 } },
  coarse: { image: { quality: "standard" }, clip: { quality: "standard", resolution: "720p", duration_ms: 3000 } },
} as const;
