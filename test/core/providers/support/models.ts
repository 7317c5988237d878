import { join } from "node:path";
import type { StepMethods } from "../../../../src/core/define/index.ts";

export const PACKAGES = join(import.meta.dirname, "../node_modules/@ai-sdk");

export type Model = Parameters<StepMethods["generate"]>[1];
type Create = (options: object) => { readonly [kind: string]: (id: string) => Model };

/** The models of the real packages; all of them send their requests to one server in place of the providers. */
export async function realModels(server: { readonly origin: string }): Promise<{ readonly [name: string]: Model }> {
  const redirected: typeof fetch = (input, init) => {
    const { host, pathname, search } = new URL(input instanceof Request ? input.url : input);
    return fetch(`${server.origin}/${host}${pathname}${search}`, init);
  };
  const options = { apiKey: "secret-of-the-account", apiToken: "secret-of-the-account", fetch: redirected };
  const load = async (name: string, create: string) =>
    ((await import(/* @vite-ignore */ join(PACKAGES, name, "dist/index.js"))) as Record<string, Create>)[create]!(
      options,
    );
  const fal = await load("fal", "createFal");
  const replicate = await load("replicate", "createReplicate");
  const openai = await load("openai", "createOpenAI");
  const elevenlabs = await load("elevenlabs", "createElevenLabs");
  const gateway = await load("gateway", "createGateway");
  return {
    "fal image": fal.image!("fal-ai/flux/dev"),
    "fal video": fal.video!("kling"),
    "fal speech": fal.speech!("fal-ai/minimax/speech-02-hd"),
    "replicate image": replicate.image!("black-forest-labs/flux-schnell"),
    "replicate video": replicate.video!("makers/film"),
    "openai image": openai.image!("gpt-image-1"),
    "openai speech": openai.speech!("tts-1"),
    "elevenlabs speech": elevenlabs.speech!("eleven_v3"),
    "gateway image": gateway.image!("bfl/flux"),
    "gateway video": gateway.video!("google/veo"),
    "gateway speech": gateway.speech!("openai/tts-1"),
  };
}
