import { join } from "node:path";
import { createCanvas } from "@napi-rs/canvas";
import { openMediaStore } from "../../../../src/core/engine/media/folder-store.ts";
import type { MediaStore } from "../../../../src/core/engine/media/media-store.ts";
import {
  createMemoryJournal,
  type JournalStore,
  type OpenOptions,
  openShowrunner,
  type Showrunner,
} from "../../../../src/index.ts";
import { type Dashboard, type DashboardOptions, startDashboard } from "../../../../src/studio/dashboard/index.ts";
import { builtInCatalog } from "../../../support/built-in-catalog.ts";
import { FakePaidService } from "../../../support/fake-paid-service.ts";
import { newFolder } from "../../../support/temporary-folder.ts";

export const TOKEN = "a-token-that-only-the-test-knows";

export interface Served extends AsyncDisposable {
  readonly dashboard: Dashboard;
  readonly show: Showrunner;
  readonly journal: JournalStore;
  readonly media: MediaStore;
  readonly paidService: FakePaidService;
  readonly defects: readonly unknown[];
  /** Stores a picture and returns it as an output of a planted step. */
  picture(
    hue: number,
    size?: { readonly width: number; readonly height: number },
  ): Promise<{ sha256: string; contentType: string; sizeBytes: number }>;
  /** Closes the server and starts another on the same port, as after a crash. */
  restart(): Promise<void>;
  stopServing(): Promise<void>;
}

/** Serves the dashboard with a new journal, and by default with the fake paid service. */
export async function serveDashboard(
  options: Partial<DashboardOptions> & {
    readonly open?: Partial<OpenOptions>;
    readonly paidService?: FakePaidService;
  } = {},
): Promise<Served> {
  const { open, paidService = new FakePaidService({ catalog: builtInCatalog() }), ...rest } = options;
  const folder = newFolder();
  const journal = options.journal ?? createMemoryJournal();
  const media = await openMediaStore(join(folder, "media"));
  const show = await openShowrunner({
    ...(open?.baseUrl === undefined && { client: paidService.client() }),
    journal,
    mediaDir: join(folder, "media"),
    ...open,
  });
  const defects: unknown[] = [];
  const start = (port: number) =>
    startDashboard({ show, journal, media, token: TOKEN, port, onDefect: (error) => defects.push(error), ...rest });
  let dashboard = await start(0);
  const port = Number(new URL(dashboard.origin).port);
  return {
    get dashboard() {
      return dashboard;
    },
    show,
    journal,
    media,
    paidService: paidService,
    defects,
    async picture(hue, { width, height } = { width: 320, height: 180 }) {
      const bytes = drawn(hue, width, height);
      const stored = await media.put({ bytes });
      return { ...stored, contentType: "image/png" };
    },
    async restart() {
      dashboard = await start(port);
    },
    stopServing: () => dashboard.close(),
    async [Symbol.asyncDispose]() {
      await dashboard.close();
      await show.close();
      if (options.journal === undefined) await journal.close();
    },
  };
}

function drawn(hue: number, width: number, height: number): Buffer {
  const canvas = createCanvas(width, height);
  const context = canvas.getContext("2d");
  const sky = context.createLinearGradient(0, 0, 0, height);
  sky.addColorStop(0, `hsl(${hue} 45% 72%)`);
  sky.addColorStop(1, `hsl(${hue + 30} 40% 88%)`);
  context.fillStyle = sky;
  context.fillRect(0, 0, width, height);
  context.fillStyle = `hsl(${hue + 200} 30% 40%)`;
  context.beginPath();
  context.ellipse(width / 2, height, width * 0.7, height * 0.4, 0, 0, Math.PI * 2);
  context.fill();
  return canvas.toBuffer("image/png");
}
