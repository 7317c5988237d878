import { useMemo, useState } from "preact/hooks";
import { formatDuration } from "../../../../core/kit/duration.ts";
import type { TimelineSpan } from "../../../../core/view/index.ts";
import type { PageTimeline } from "../../views/document.ts";
import { get, runPath } from "../state/api.ts";
import type { RunModel } from "../state/run-store.ts";
import { Empty, Problem } from "../ui/bits.tsx";
import { usd } from "../ui/format.ts";
import { useLoaded, useNow, useThrottled } from "../ui/hooks.ts";
import { VirtualList } from "../ui/virtual.tsx";
import { type TimeScale, timeScale } from "./time-scale.ts";

interface Props {
  readonly model: RunModel;
  readonly step: string | null;
  readonly onOpen: (step: string) => void;
}

interface Row {
  readonly step: string;
  readonly spans: readonly TimelineSpan[];
}

const ROWS_A_PAGE = 1000;
const phases: readonly TimelineSpan["phase"][] = ["upload", "queue", "render", "download", "task", "chat", "approval"];
const colourOf = (phase: TimelineSpan["phase"]) => ({ "--phase": `var(--${phase})` });

export function TimelineTab({ model, step, onOpen }: Props) {
  const { head } = model;
  const seq = useThrottled(head.seq, 1500);
  const [limit, setLimit] = useState(ROWS_A_PAGE);
  const loaded = useLoaded(
    (signal) => get<PageTimeline>(`${runPath(head.id)}/timeline?rows=${limit}`, signal),
    [head.id, seq, limit],
  );
  const spans = loaded.state === "ready" ? loaded.value.spans : [];
  const isMoving = head.status === "running" && spans.some(({ to }) => to === null);
  const clock = useNow(isMoving);
  const now = isMoving ? clock : head.updatedAt;
  const rows = useMemo(() => rowsOf(spans), [spans]);
  if (loaded.state === "failed")
    return <Problem title="The timeline could not be loaded">{loaded.error.message}</Problem>;
  if (loaded.state === "loading") return <p class="quiet page">Loading the events…</p>;
  if (rows.length === 0) return <Empty title="Nothing has started yet" />;
  const { from, to: ended, rows: total, incidents } = loaded.value;
  const to = Math.max(from + 1000, ended ?? 0, isMoving ? now : 0);
  const more = rows.length < total ? () => setLimit(limit + ROWS_A_PAGE) : null;
  const scale = timeScale(spans, from, to, now);
  const seen = new Set(spans.map(({ phase }) => phase));
  const hasFailed = ({ step: path, attempt }: TimelineSpan) =>
    model.steps.get(path)?.attempts.some(({ n, error }) => n === attempt && error !== null) === true;
  return (
    <div class="timeline">
      <ul class="legend" aria-label="Colors">
        {phases
          .filter((phase) => seen.has(phase))
          .map((phase) => (
            <li key={phase}>
              <i class={`bar ${phase}`} style={colourOf(phase)} aria-hidden="true" />
              {phase}
            </li>
          ))}
      </ul>
      <Axis scale={scale} from={from} />
      <VirtualList items={rows} rowHeight={34} label="Steps by start time" class="gantt" onEnd={more}>
        {(row) => (
          <Line row={row} scale={scale} now={now} hasFailed={hasFailed} onOpen={onOpen} isChosen={row.step === step} />
        )}
      </VirtualList>
      {incidents.length > 0 && (
        <section class="section">
          <h2>Incidents</h2>
          <ol class="happened">
            {incidents.map(({ at, step: path, what, why, costMicros }, index) => (
              <li key={index}>
                <time dateTime={new Date(at).toISOString()}>+{formatDuration(at - from)}</time> <b>{path ?? "run"}</b>{" "}
                {what}
                {costMicros !== null && (costMicros === 0 ? " (refunded)" : ` (cost ${usd(costMicros)})`)}
                {why !== "" && <small class="quiet"> {why}</small>}
              </li>
            ))}
          </ol>
        </section>
      )}
    </div>
  );
}

function rowsOf(spans: readonly TimelineSpan[]): readonly Row[] {
  return [...Map.groupBy(spans, ({ step }) => step)].map(([step, own]) => ({ step, spans: own }));
}

/** Returns how long the step worked. If it did no work, returns how long it waited for a person. */
function workOf({ spans }: Row, now: number): number {
  const own = spans.filter(({ phase }) => phase !== "approval");
  const [first] = own;
  if (first === undefined) return spans.reduce((sum, one) => sum + (one.to ?? now) - one.from, 0);
  return Math.max(...own.map(({ to }) => to ?? now)) - first.from;
}

const minutes = [1, 2, 5, 10, 30, 60, 120, 360, 1440].map((count) => count * 60_000);
const steps = [100, 250, 500, 1000, 2000, 5000, 10_000, 15_000, 30_000, ...minutes];

function Axis({ scale, from }: { readonly scale: TimeScale; readonly from: number }) {
  const { shownMs, folds } = scale;
  const every = steps.find((step) => shownMs / step <= 6) ?? shownMs / 5;
  const marks = Array.from({ length: Math.floor(shownMs / every) + 1 }, (_, index) => scale.instant(index * every));
  const at = (instant: number) => ({ left: `${100 * scale.position(instant)}%` });
  return (
    <div class="axis">
      <span />
      <div>
        {marks
          .filter((mark) => scale.position(mark) < 0.97)
          .map((mark) => (
            <span key={mark} style={at(mark)} aria-hidden="true">
              {mark === from ? "0" : formatDuration(mark - from)}
            </span>
          ))}
        {folds.map((fold) => (
          <i
            key={fold.from}
            class="fold"
            style={at((fold.from + fold.to) / 2)}
            title={`Nothing ran for ${formatDuration(fold.to - fold.from)}`}
          >
            <span class="unseen">Nothing ran for {formatDuration(fold.to - fold.from)}</span>
          </i>
        ))}
      </div>
    </div>
  );
}

interface LineProps {
  readonly row: Row;
  readonly scale: TimeScale;
  readonly now: number;
  readonly isChosen: boolean;
  readonly hasFailed: (span: TimelineSpan) => boolean;
  readonly onOpen: (step: string) => void;
}

function Line({ row, scale, now, isChosen, hasFailed, onOpen }: LineProps) {
  const took = formatDuration(workOf(row, now));
  const said = row.spans
    .map((one) => `${one.phase} ${formatDuration((one.to ?? now) - one.from)}${hasFailed(one) ? " (failed)" : ""}`)
    .join(", ");
  return (
    <button
      type="button"
      class={isChosen ? "gantt-row chosen" : "gantt-row"}
      onClick={() => onOpen(row.step)}
      aria-label={`${row.step} ${took}: ${said}`}
      title={said}
    >
      <span class="label">
        <span>{row.step}</span> <small>{took}</small>
      </span>
      <span class="track">
        {row.spans.map((one) => (
          <i
            key={`${one.attempt} ${one.phase} ${one.from}`}
            class={`bar ${one.phase}${one.to === null ? " open" : ""}${hasFailed(one) ? " failed" : ""}`}
            style={{
              ...colourOf(one.phase),
              left: `${100 * scale.position(one.from)}%`,
              width: `${Math.max(0.15, 100 * (scale.position(one.to ?? now) - scale.position(one.from)))}%`,
            }}
          />
        ))}
      </span>
    </button>
  );
}
