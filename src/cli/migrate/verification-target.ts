import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadLocalService } from "../../core/kit/load-local-service.ts";
import type { Catalog, Showrunner } from "../../index.ts";
import type { ServiceFlags } from "../program/flags.ts";

/** `close` removes the temporary folder. */
export interface VerificationTarget {
  readonly show: Showrunner;
  readonly isHosted: boolean;
  readonly name: string;
  readonly folder: string;
  close(): Promise<void>;
}

/** `families` must be an absolute path. */
export async function hostedTarget({
  service,
  baseUrl,
  families,
}: Pick<ServiceFlags, "service" | "baseUrl" | "families">): Promise<VerificationTarget> {
  const { createMemoryJournal, openShowrunner } = await import("../../index.ts");
  const folder = await mkdtemp(join(tmpdir(), "showrunner-migrate-"));
  const mediaDir = join(folder, "media");
  const show = await openShowrunner({ service, baseUrl, families, journal: createMemoryJournal(), mediaDir });
  const close = async () => {
    await show.close();
    await rm(folder, { recursive: true, force: true });
  };
  return { show, isHosted: true, name: show.service.baseUrl, folder, close };
}

const NO_LIMIT = { requests: 1_000_000, windowMs: 1000 };
const PLAY_MONEY_USD = 1_000_000;

/** Offers the built-in models if `catalog` is null. */
export async function localTarget(catalog: Catalog | null, families?: string): Promise<VerificationTarget> {
  const { createClient, createMemoryJournal, openShowrunner } = await import("../../index.ts");
  const { startLocalService } = await loadLocalService();
  const folder = await mkdtemp(join(tmpdir(), "showrunner-migrate-"));
  const service = await startLocalService({
    dataDir: join(folder, "service"),
    renderer: "stub",
    balance: PLAY_MONEY_USD,
    rateLimit: NO_LIMIT,
    ...(catalog !== null && { catalog: servable(catalog) }),
    ...(families !== undefined && { families }),
  });
  const client = createClient({ baseUrl: service.baseUrl, apiKey: service.apiKey });
  const mediaDir = join(folder, "media");
  const show = await openShowrunner({ client, families, journal: createMemoryJournal(), mediaDir });
  const close = async () => {
    await show.close();
    await client.close();
    await service.close();
    await rm(folder, { recursive: true, force: true });
  };
  const prices =
    catalog === null ? "the local service (its own models and prices)" : "the local service (guessed prices)";
  return { show, isHosted: false, name: prices, folder, close };
}

function servable(catalog: Catalog): readonly unknown[] {
  return catalog
    .models()
    .filter(({ state }) => state === "live")
    .map((model) => ({
      id: model.id,
      modality: model.modality,
      name: model.name,
      description: model.description,
      price_description: model.priceDescription,
      input_schema: model.inputSchema,
      output_schema: Object.keys(model.outputSchema).length === 0 ? null : model.outputSchema,
    }));
}
