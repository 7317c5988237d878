import { afterEach } from "vitest";
import { type Receiver, type Respond, startReceiver } from "../../support/receiver.ts";

const open: Receiver[] = [];
afterEach(() => Promise.all(open.splice(0).map((one) => one[Symbol.asyncDispose]())));

/** A receiver that is closed after the test. */
export async function receiver(respond: Respond = () => 200): Promise<Receiver> {
  const started = await startReceiver(respond);
  open.push(started);
  return started;
}
