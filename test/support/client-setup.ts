import { afterEach } from "vitest";
import { type Client, type ClientOptions, createClient } from "../../src/core/api/index.ts";
import { type FakeService, fakeService, type Reply } from "./fake-service.ts";
import { skippingClock } from "./simulated-clock.ts";

/** Creates pairs of a scripted server and its client; both are closed after each test. */
export function clientSetup() {
  const open: { close(): Promise<void> }[] = [];
  afterEach(async () => {
    for (const each of open.splice(0).reverse()) await each.close();
  });
  return async (
    replies: readonly Reply[],
    options: Partial<ClientOptions> = {},
  ): Promise<{ readonly service: FakeService; readonly client: Client }> => {
    const service = await fakeService(...replies);
    const client = createClient({
      baseUrl: service.baseUrl,
      apiKey: "key_1:secret",
      clock: skippingClock(),
      random: () => 0.5,
      ...options,
    });
    open.push(service, client);
    return { service, client };
  };
}
