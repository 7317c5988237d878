import { join } from "node:path";
import { systemClock } from "../../api/index.ts";
import { readFamilies } from "../../families/index.ts";
import { openJournal } from "../../journal/open.ts";
import { accountOf } from "../../journal/record.ts";
import { folderOfJournal } from "../../journal-location.ts";
import { InvalidOptionError } from "../errors.ts";
import { openMedia } from "../media/open-media.ts";
import { spendingLimits } from "../money/spending.ts";
import { openNotifications } from "../notify/notifications.ts";
import type { OpenOptions } from "../options/options.ts";
import { checkTurns } from "../options/turns.ts";
import { openService } from "../service/embedded-service.ts";
import { StorePace } from "../service/store-pace.ts";
import { EmbeddedShowrunner } from "./embedded.ts";
import type { Showrunner } from "./showrunner.ts";

/** Opens journal, media store and service. Close it when done. */
export async function openShowrunner(options: OpenOptions = {}): Promise<Showrunner> {
  const limits = spendingLimits(options);
  checkTurns(options.turns);
  const notifications = openNotifications(options);
  const ownFamilies = options.families ?? ((options.env ?? process.env).SHOWRUNNER_FAMILIES || undefined);
  const families = readFamilies(ownFamilies);
  const journal = options.journal ?? process.env.SHOWRUNNER_JOURNAL ?? ".showrunner/journal.db";
  const store = typeof journal === "string" ? await openJournal(journal) : journal;
  try {
    const folder = typeof journal === "string" ? folderOfJournal(journal) : ".showrunner";
    const { media: location, mediaDir = join(folder, "media"), env } = options;
    const media = await openMedia({ media: location, mediaDir, env });
    const pace = options.sharePace === true ? new StorePace(store, options.clock ?? systemClock) : undefined;
    const service = await openService({ ...options, families: ownFamilies, ...(pace && sharing(pace, options)) });
    pace?.of(accountOf({ baseUrl: service.origin, keyId: service.client.keyId }));
    const ownsStore = typeof journal === "string";
    return new EmbeddedShowrunner({ options, limits, notifications, families, store, ownsStore, media, service });
  } catch (error) {
    if (typeof journal === "string") await store.close();
    throw error;
  }
}

function sharing(shared: StorePace, { client, clientOptions }: OpenOptions): Pick<OpenOptions, "clientOptions"> {
  if (client !== undefined) {
    throw new InvalidOptionError(
      "sharePace",
      "is for the client that is made here; give `clientOptions`, not `client`.",
    );
  }
  return { clientOptions: { ...clientOptions, pace: { ...clientOptions?.pace, shared } } };
}
