import { ALL_FORMATS, FilePathSource, Input } from "mediabunny";

/** Reads facts about a film's tracks. */
export async function trackFacts(path: string) {
  const input = new Input({ source: new FilePathSource(path), formats: ALL_FORMATS });
  const video = await input.getPrimaryVideoTrack();
  const audio = await input.getPrimaryAudioTrack();
  const facts = {
    seconds: await video!.computeDuration(),
    width: await video!.getDisplayWidth(),
    height: await video!.getDisplayHeight(),
    hasSound: audio !== null,
  };
  input.dispose();
  return facts;
}
