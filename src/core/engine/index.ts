// Exports for the other parts of the library. Names for users are exported from `src/index.ts`.

export { describeDatabase } from "../journal/open.ts";
export { openSqliteJournal } from "../journal/sqlite.ts";
export type { ReconcileReport } from "./adoption/reconcile.ts";
export type { UnresolvedStep } from "./adoption/unresolved.ts";
export { type BulkQuote, checkEach } from "./bulk/quote-each.ts";
export type { RowOutcome } from "./bulk/run-each.ts";
export type { RerunScope } from "./change/drift.ts";
export { rehearsal } from "./effects/index.ts";
export { discardUnnamed } from "./media/gc.ts";
export { measureMedia, readingFor } from "./media/media-reader.ts";
export { checkMedia, openMedia } from "./media/open-media.ts";
export { openNotifications } from "./notify/notifications.ts";
export type { QuoteOptions } from "./options/options.ts";
export type { LocalWork, SliceOptions } from "./slice/run-slices.ts";
