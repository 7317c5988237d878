import { onTestFinished } from "vitest";
import { type Receiver, type Respond, startReceiver } from "../../support/receiver.ts";

/** A receiver that is closed after the test. */
export async function receiver(respond: Respond = () => 200): Promise<Receiver> {
  const started = await startReceiver(respond);
  onTestFinished(() => started[Symbol.asyncDispose]());
  return started;
}
