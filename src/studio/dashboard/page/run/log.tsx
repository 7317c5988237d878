import { useEffect, useMemo, useState } from "preact/hooks";
import type { EventLine } from "../../views/run-wire.ts";
import { get, runPath } from "../state/api.ts";
import { inlined } from "../state/inlined.ts";
import type { RunModel } from "../state/run-store.ts";
import { Empty } from "../ui/bits.tsx";
import { clockTime, count, dateTime } from "../ui/format.ts";
import { VirtualList } from "../ui/virtual.tsx";

/** The run's events, newest at the end. */
export function LogTab({ model, onOpen }: { readonly model: RunModel; readonly onOpen: (step: string) => void }) {
  const { id } = model.head;
  const [earlier, setEarlier] = useState<readonly EventLine[]>([]);
  const [search, setSearch] = useState("");
  const [error, setError] = useState<string | null>(null);
  const first = earlier[0]?.seq ?? model.events[0]?.seq ?? 1;
  const load = async () => {
    setError(null);
    try {
      const found = await get<readonly EventLine[]>(`${runPath(id)}/events?before=${first}`);
      setEarlier((now) => [...found, ...now]);
    } catch (failure) {
      setError((failure as Error).message);
    }
  };
  useEffect(() => setEarlier([]), [id]);
  const term = search.trim().toLowerCase();
  const lines = useMemo(() => {
    const all = [...earlier, ...model.events];
    return term === ""
      ? all
      : all.filter(({ type, step, text }) => `${type} ${step ?? ""} ${text}`.toLowerCase().includes(term));
  }, [earlier, model.events, term]);
  return (
    <div class="log">
      <div class="filters">
        <search class="search">
          <input
            type="search"
            placeholder="Search these events"
            aria-label="Search these events"
            value={search}
            onInput={(event) => setSearch(event.currentTarget.value)}
          />
        </search>
        <span class="quiet">{count(lines.length, "event")}</span>
        {first > 1 && inlined === null && (
          <button type="button" class="button small" data-before={first} onClick={load}>
            Load {Math.min(500, first - 1)} earlier
          </button>
        )}
        {error !== null && <span class="note bad">{error}</span>}
      </div>
      {lines.length === 0 ? (
        <Empty title="No event matches" />
      ) : (
        <VirtualList items={lines} rowHeight={30} label="Events" class="lines" sticksToEnd>
          {(line) => <Line line={line} onOpen={onOpen} />}
        </VirtualList>
      )}
    </div>
  );
}

function Line({ line, onOpen }: { readonly line: EventLine; readonly onOpen: (step: string) => void }) {
  const { seq, at, type, step, text } = line;
  return (
    <div class="log-row">
      <span class="seq">{seq}</span>
      <time dateTime={new Date(at).toISOString()} title={dateTime(at)}>
        {clockTime(at)}
      </time>
      <b class={toneOf(line)}>{type}</b>
      {step === null ? (
        <span />
      ) : (
        <button type="button" class="link" onClick={() => onOpen(step)}>
          {step}
        </button>
      )}
      <span class="text" title={text}>
        {text}
      </span>
    </div>
  );
}

function toneOf({ type, text }: EventLine): string {
  if (/failed|refused|unresolved|expired/.test(type) || (type.endsWith(".finished") && text.startsWith("failed")))
    return "bad";
  if (/paused|unknown|withdrawn|reset/.test(type)) return "ask";
  return /finished|completed|settled|downloaded|approved|placed/.test(type) ? "good" : "";
}
