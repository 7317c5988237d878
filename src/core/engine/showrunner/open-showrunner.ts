import { join } from "node:path";
import { type Clock, systemClock } from "../../api/index.ts";
import { readFamilies } from "../../families/index.ts";
import { openJournal } from "../../journal/open.ts";
import type { JournalStore } from "../../journal/store.ts";
import { folderOfJournal } from "../../kit/journal-location.ts";
import { openMedia } from "../media/open-media.ts";
import { spendingLimits } from "../money/spending.ts";
import { openNotifications } from "../notify/notifications.ts";
import type { OpenOptions } from "../options/options.ts";
import { checkTurns } from "../options/tags.ts";
import { openService } from "../service/embedded-service.ts";
import { EmbeddedShowrunner } from "./embedded.ts";
import type { Showrunner } from "./showrunner.ts";

/** Opens the journal, the media store and the service. Close it when done. */
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
    const media = await openMedia({ media: location, mediaDir, env, isReadOnly: store.isReadOnly === true });
    const clock = clockOf(store, options.clock ?? systemClock);
    const isShared = store.clockOffsetMs !== undefined && options.client === undefined;
    const all = isShared ? { ...options, clientOptions: { clock, ...options.clientOptions } } : options;
    const service = await openService({ ...all, families: ownFamilies });
    const ownsStore = typeof journal === "string";
    return new EmbeddedShowrunner({
      options: { ...options, clock },
      limits,
      notifications,
      families,
      store,
      ownsStore,
      media,
      service,
    });
  } catch (error) {
    if (typeof journal === "string") await store.close();
    throw error;
  }
}

/** A journal shared by machines provides the clock for what they coordinate. */
function clockOf(store: JournalStore, clock: Clock): Clock {
  if (store.clockOffsetMs === undefined) return clock;
  return {
    now: () => clock.now() + store.clockOffsetMs!(),
    setTimer: (delayMs, fire, options) => clock.setTimer(delayMs, fire, options),
  };
}
