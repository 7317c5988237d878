import { useMemo, useState } from "preact/hooks";
import type { SpanView, TimelineView } from "../../views/run-wire.ts";
import { get, runPath } from "../state/api.ts";
import type { RunModel } from "../state/run-store.ts";
import { Empty, Problem } from "../ui/bits.tsx";
import { span } from "../ui/format.ts";
import { useLoaded, useNow, useThrottled } from "../ui/hooks.ts";
import { VirtualList } from "../ui/virtual.tsx";

interface Props {
  readonly model: RunModel;
  readonly step: string | null;
  readonly onOpen: (step: string) => void;
}

interface Row {
  readonly step: string;
  readonly spans: readonly SpanView[];
}

const ROWS_A_PAGE = 1000;
const phases = ["upload", "queue", "render", "download", "task", "chat", "approval"];

/** When each step did what. */
export function TimelineTab({ model, step, onOpen }: Props) {
  const { head } = model;
  const seq = useThrottled(head.seq, 1500);
  const [limit, setLimit] = useState(ROWS_A_PAGE);
  const loaded = useLoaded(
    (signal) => get<TimelineView>(`${runPath(head.id)}/timeline?rows=${limit}`, signal),
    [head.id, seq, limit],
  );
  const spans = loaded.state === "ready" ? loaded.value.spans : [];
  const isMoving = head.status === "running" && spans.some(({ to }) => to === null);
  const clock = useNow(isMoving);
  const now = isMoving ? clock : head.updatedAt;
  const rows = useMemo(() => rowsOf(spans), [spans]);
  if (loaded.state === "failed")
    return <Problem title="The timeline could not be read">{loaded.error.message}</Problem>;
  if (loaded.state === "loading") return <p class="quiet page">Reading the events…</p>;
  if (rows.length === 0) return <Empty title="Nothing has started yet" />;
  const { from, to: ended, rows: total } = loaded.value;
  const to = Math.max(from + 1000, ended ?? 0, isMoving ? now : 0);
  const more = rows.length < total ? () => setLimit(limit + ROWS_A_PAGE) : null;
  const seen = new Set(spans.map(({ phase }) => phase));
  return (
    <div class="timeline">
      <ul class="legend" aria-label="Colours">
        {phases
          .filter((phase) => seen.has(phase))
          .map((phase) => (
            <li key={phase}>
              <i class={`bar ${phase}`} aria-hidden="true" />
              {phase}
            </li>
          ))}
      </ul>
      <Axis from={from} to={to} />
      <VirtualList items={rows} rowHeight={34} label="Steps by their start" class="gantt" onEnd={more}>
        {(row) => <Line row={row} from={from} to={to} now={now} isChosen={row.step === step} onOpen={onOpen} />}
      </VirtualList>
    </div>
  );
}

function rowsOf(spans: readonly SpanView[]): readonly Row[] {
  const rows = new Map<string, SpanView[]>();
  for (const one of spans) {
    const row = rows.get(one.step);
    if (row === undefined) rows.set(one.step, [one]);
    else row.push(one);
  }
  return [...rows].map(([step, own]) => ({ step, spans: own }));
}

const steps = [
  100, 250, 500, 1000, 2000, 5000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000, 600_000, 1_800_000, 3_600_000,
  7_200_000, 21_600_000, 86_400_000,
];

function Axis({ from, to }: { readonly from: number; readonly to: number }) {
  const length = to - from;
  const every = steps.find((step) => length / step <= 6) ?? length / 5;
  const marks = Array.from({ length: Math.floor(length / every) + 1 }, (_, index) => index * every).filter(
    (at) => at / length < 0.97,
  );
  return (
    <div class="axis" aria-hidden="true">
      <span />
      <div>
        {marks.map((at) => (
          <span key={at} style={{ left: `${(100 * at) / length}%` }}>
            {at === 0 ? "0" : span(at)}
          </span>
        ))}
      </div>
    </div>
  );
}

interface LineProps {
  readonly row: Row;
  readonly from: number;
  readonly to: number;
  readonly now: number;
  readonly isChosen: boolean;
  readonly onOpen: (step: string) => void;
}

function Line({ row, from, to, now, isChosen, onOpen }: LineProps) {
  const length = to - from;
  const said = row.spans.map((one) => `${one.phase} ${span((one.to ?? now) - one.from)}`).join(", ");
  return (
    <button
      type="button"
      class={isChosen ? "gantt-row chosen" : "gantt-row"}
      onClick={() => onOpen(row.step)}
      aria-label={`${row.step}: ${said}`}
      title={said}
    >
      <span class="label">{row.step}</span>
      <span class="track">
        {row.spans.map((one) => (
          <i
            key={`${one.attempt} ${one.phase} ${one.from}`}
            class={`bar ${one.phase}${one.to === null ? " open" : ""}`}
            style={{
              left: `${(100 * (one.from - from)) / length}%`,
              width: `${Math.max(0.15, (100 * ((one.to ?? now) - one.from)) / length)}%`,
            }}
          />
        ))}
      </span>
    </button>
  );
}
