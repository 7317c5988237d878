import { listedTags, tagTexts } from "../../../core/kit/tags.ts";
import { isRunFinal, loadRun, type RunRow, RunView } from "../../../core/view/index.ts";
import type { JournalStore } from "../../../index.ts";
import { cut } from "../views/truncate.ts";
import { RunMemo } from "./run-cache.ts";

export interface QueueQuery {
  readonly search: string;
  readonly run: string | null;
  readonly pipeline: string | null;
  readonly tag: string | null;
}

const MOST_ITEMS = 1000;

export class WaitingDecisions {
  readonly #journal: JournalStore;
  /** Open decisions by run. Unlimited, because each request reads all waiting runs. */
  readonly #known = new RunMemo<RunView["openDecisions"]>(Number.POSITIVE_INFINITY);

  constructor(journal: JournalStore) {
    this.#journal = journal;
  }

  async find(query: QueueQuery) {
    const listed = query.run === null ? await this.#journal.runs({ search: query.search }) : await this.#one(query.run);
    const rows = listed.filter((row) => !isRunFinal(row.status));
    if (query.search === "" && query.run === null) this.#known.keepOnly(rows);
    const found = [];
    for (const row of rows) {
      const { runId, title, pipeline, tags } = row;
      // An unreadable run does not hide the others.
      const open = await this.#known.get(row, () => this.#openIn(runId).catch(() => []));
      const said = open.length > 0 ? await this.#decided(runId) : null;
      for (const { step, message, ...one } of open) {
        if (said?.has(step)) continue;
        const asks = message === null ? null : cut(message, 300);
        found.push({ run: runId, title, pipeline, tags: tagTexts(tags), step, message: asks, ...one });
      }
    }
    const items = found
      .filter((one) => query.pipeline === null || one.pipeline === query.pipeline)
      .filter((one) => query.tag === null || one.tags.includes(query.tag))
      .sort((a, b) => a.since - b.since);
    return {
      items: items.slice(0, MOST_ITEMS).map((one) => ({ ...one, tags: listedTags(one.tags) })),
      total: items.length,
      pipelines: counted(found.map(({ pipeline }) => pipeline)),
      tags: counted(found.flatMap(({ tags }) => tags)),
    };
  }

  async #one(runId: string): Promise<readonly RunRow[]> {
    const row = await this.#journal.run(runId);
    return row === null ? [] : [row];
  }

  async #openIn(runId: string): Promise<RunView["openDecisions"]> {
    return new RunView(await loadRun(this.#journal, runId)).openDecisions;
  }

  async #decided(runId: string): Promise<ReadonlySet<string>> {
    const inbox = await this.#journal.inbox(runId);
    return new Set(
      inbox.flatMap(({ message: one }) => (one.type === "approve" || one.type === "reject" ? [one.step] : [])),
    );
  }
}

function counted(names: readonly string[]) {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].map(([name, count]) => ({ name, count })).sort((a, b) => (a.name < b.name ? -1 : 1));
}
