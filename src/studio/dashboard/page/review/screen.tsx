import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { PageStep, QueuedDecision, ReviewQueue } from "../../views/document.ts";
import { decisionKey, type Verdict, verdicts } from "../run/decision.tsx";
import { get, post, runPath } from "../state/api.ts";
import { listVersion, useCanAct } from "../state/live.ts";
import { go, type Route, reviewHref } from "../state/router.ts";
import { useStore } from "../state/store.ts";
import { Button, Empty, Link, Problem, ShortList } from "../ui/bits.tsx";
import { ago, count } from "../ui/format.ts";
import { useKeys, useLoaded, useNow, useThrottled } from "../ui/hooks.ts";
import { Dialog } from "../ui/panel.tsx";
import { Stage } from "./stage.tsx";

export function ReviewScreen({ route }: { readonly route: ReviewRoute }) {
  const { search, run, pipeline, tag } = route;
  const version = useThrottled(useStore(listVersion), 400);
  const term = useThrottled(search, 150);
  const query = new URLSearchParams({
    q: term,
    ...(run !== null && { run }),
    ...(pipeline !== null && { pipeline }),
    ...(tag !== null && { tag }),
  });
  const asked = `${query}`;
  const loaded = useLoaded(
    async (signal) => ({ asked, queue: await get<ReviewQueue>(`/api/review?${asked}`, signal) }),
    [version, asked],
  );
  if (loaded.state === "loading") return <p class="quiet page">Loading decisions…</p>;
  if (loaded.state === "failed") {
    return (
      <div class="page">
        <h1>Review</h1>
        <Problem title="The decisions could not be loaded">{loaded.error.message}</Problem>
      </div>
    );
  }
  return <Reviewing route={route} {...loaded.value} version={version} />;
}

interface ReviewingProps {
  readonly route: ReviewRoute;
  readonly asked: string;
  readonly queue: ReviewQueue;
  readonly version: number;
}

function Reviewing({ route, asked, queue, version }: ReviewingProps) {
  const said = useStore(verdicts);
  const canAct = useCanAct();
  const [isApprovingAll, setApprovingAll] = useState(false);
  const open = queue.items.filter((item) => said.get(keyOf(item))?.error !== null);
  const at = route.at ?? placeOf(open[0]);
  const index = open.findIndex((item) => placeOf(item) === at);
  const show = (item: QueuedDecision | undefined) => go(reviewHref({ ...route, at: placeOf(item) }), "replace");
  const move = (by: number) => {
    if (open.length > 0) show(open[Math.min(open.length - 1, Math.max(0, index + by))]);
  };
  useEffect(() => {
    // The address contains the position, so that someone else's decision does not change what is shown.
    if (route.at === null && at !== null) go(reviewHref({ ...route, at }), "replace");
  }, [route.at, at]);
  const filtered = useRef(asked);
  useEffect(() => {
    if (filtered.current === asked) return;
    filtered.current = asked;
    if (index < 0) show(open[0]);
  }, [asked, index]);
  const [last] = [...said].slice(-1);
  const undo = () => {
    if (last?.[1].undo == null) return;
    last[1].undo();
    const item = queue.items.find((one) => keyOf(one) === last[0]);
    if (item !== undefined) show(item);
  };
  useKeys({ u: undo });
  const isSaidThere = last?.[1].error != null && open[index] !== undefined && keyOf(open[index]) === last[0];
  return (
    <div class="desk">
      <aside>
        <h1>Review</h1>
        <p class="quiet" role="status">
          {open.length === 0 ? "Nothing to decide" : `${count(open.length, "decision")} to make`}
        </p>
        <Filters route={route} queue={queue} />
        {canAct && open.some(({ takes }) => takes === null) && open.length > 1 && (
          <Button label="Approve all…" onClick={() => setApprovingAll(true)} />
        )}
        <Queue items={open} at={at} onShow={show} />
      </aside>
      <div class="desk-main">
        {at === null ? (
          <Done route={route} />
        ) : (
          <Shown
            key={at}
            at={at}
            item={open[index]}
            next={open[index + 1]}
            version={version}
            onMove={move}
            onDecided={() => show(open[index + 1] ?? open.find((_, other) => other !== index))}
          />
        )}
        {last !== undefined && !isSaidThere && <Said verdict={last[1]} onUndo={undo} />}
        <p class="keys quiet">
          Keys: 1 to 9 pick, A approve, R reject, U undo, arrows move, space play, Z enlarge, D differences, E earlier
          attempts, C comment, M redo
        </p>
      </div>
      {isApprovingAll && (
        <ApproveAll items={open.filter(({ takes }) => takes === null)} onClose={() => setApprovingAll(false)} />
      )}
    </div>
  );
}

function keyOf({ run, step, since }: QueuedDecision): string {
  return decisionKey(run, step, since);
}

function placeOf(item: QueuedDecision | undefined): string | null {
  return item === undefined ? null : `${item.run}/${item.step}`;
}

interface QueueProps {
  readonly items: readonly QueuedDecision[];
  readonly at: string | null;
  readonly onShow: (item: QueuedDecision) => void;
}

function Queue({ items, at, onShow }: QueueProps) {
  const now = useNow(true);
  return (
    <ol class="queue" aria-label="Pending decisions">
      {items.map((item) => (
        <li key={keyOf(item)}>
          <button type="button" aria-current={placeOf(item) === at ? "true" : undefined} onClick={() => onShow(item)}>
            <b>{item.title ?? item.run}</b>
            <span>
              {item.message ?? item.step}
              {item.takes !== null && ` · ${count(item.takes, "take")}`}
            </span>
            <small>{[...item.tags, ago(item.since, now)].join(" · ")}</small>
          </button>
        </li>
      ))}
    </ol>
  );
}

interface ShownProps {
  readonly at: string;
  readonly item: QueuedDecision | undefined;
  readonly next: QueuedDecision | undefined;
  readonly version: number;
  readonly onMove: (by: number) => void;
  readonly onDecided: () => void;
}

function stepOf(at: string, signal?: AbortSignal): Promise<PageStep> {
  const [run = "", ...path] = at.split("/");
  return get<PageStep>(`/api/review/step?${new URLSearchParams({ run, step: path.join("/") })}`, signal);
}

const ahead = new Map<string, Promise<PageStep>>();

function Shown({ at, item, next, version, onMove, onDecided }: ShownProps) {
  const loaded = useLoaded(
    (signal) => {
      const early = ahead.get(at);
      ahead.delete(at);
      return early ?? stepOf(at, signal);
    },
    [at, version],
  );
  const [run = ""] = at.split("/");
  if (loaded.state === "loading") return <p class="quiet page">Loading…</p>;
  if (loaded.state === "failed") return <Problem title="This decision cannot be shown">{loaded.error.message}</Problem>;
  return (
    <>
      <Stage runId={run} title={item?.title ?? run} step={loaded.value} onMove={onMove} onDecided={onDecided} />
      {next !== undefined && <Ahead key={placeOf(next)} at={placeOf(next)!} />}
    </>
  );
}

function Ahead({ at }: { readonly at: string }) {
  const asked = useMemo(() => {
    const step = stepOf(at);
    ahead.clear();
    ahead.set(at, step);
    step.catch(() => ahead.delete(at));
    return step;
  }, [at]);
  const loaded = useLoaded(() => asked, [asked]);
  const shows = loaded.state === "ready" ? (loaded.value.decision?.shows ?? []) : [];
  return (
    <div hidden>
      {shows.map(({ step, index, url, kind }) => {
        if (url === null || kind === "other") return null;
        const key = `${step} ${index}`;
        return kind === "image" ? (
          <img key={key} src={url} alt="" />
        ) : (
          <video key={key} src={url} preload="auto" muted tabIndex={-1} />
        );
      })}
    </div>
  );
}

function Said({ verdict: { said, error, undo }, onUndo }: { readonly verdict: Verdict; readonly onUndo: () => void }) {
  return (
    <p class={error === null ? "said" : "said note bad"} role={error === null ? "status" : "alert"}>
      {error ?? said} {undo !== null && <Button label="Undo" look="small" aria-keyshortcuts="U" onClick={onUndo} />}
    </p>
  );
}

function Done({ route }: { readonly route: ReviewRoute }) {
  const isFiltered = route.search !== "" || route.run !== null || route.pipeline !== null || route.tag !== null;
  return (
    <Empty title="No decisions waiting">
      <p>
        {isFiltered ? (
          <Link href="/review">Search all runs</Link>
        ) : (
          "Runs that need an approval or a choice appear here automatically."
        )}
      </p>
    </Empty>
  );
}

const MOST_LISTED = 50;

interface Props {
  readonly items: readonly QueuedDecision[];
  readonly onClose: () => void;
}

function ApproveAll({ items, onClose }: Props) {
  const approve = async () => {
    for (const [position, { run, step }] of items.entries()) {
      // A run's last decision resumes the run if no process is executing it.
      const goOn = !items.slice(position + 1).some((other) => other.run === run);
      await post(`${runPath(run)}/approve`, { step, note: "", goOn });
    }
  };
  return (
    <Dialog title={`Approve ${count(items.length, "step")}?`} action="Approve all" onAction={approve} onClose={onClose}>
      <ShortList lines={items.map(({ run, title, step }) => `${title ?? run}: ${step}`)} most={MOST_LISTED} />
      <p class="quiet">Steps in which a take must be picked are not approved.</p>
    </Dialog>
  );
}

type ReviewRoute = Extract<Route, { readonly screen: "review" }>;

interface FiltersProps {
  readonly route: ReviewRoute;
  readonly queue: ReviewQueue;
}

function Filters({ route, queue: { pipelines, tags } }: FiltersProps) {
  const { search, run, pipeline, tag } = route;
  const filter = (wanted: Partial<ReviewRoute>) => go(reviewHref({ ...route, ...wanted }), "replace");
  return (
    <>
      <input
        type="search"
        placeholder="Search titles, tags and inputs"
        aria-label="Search runs by title, tag or input"
        value={search}
        onInput={(event) => filter({ search: event.currentTarget.value })}
      />
      {run !== null && (
        <button type="button" class="chip" aria-pressed="true" onClick={() => filter({ run: null })}>
          only {run} <span aria-hidden="true">×</span>
        </button>
      )}
      <Choice name="Pipeline" value={pipeline} of={pipelines} onChoose={(chosen) => filter({ pipeline: chosen })} />
      <Choice name="Tag" value={tag} of={tags} onChoose={(chosen) => filter({ tag: chosen })} />
    </>
  );
}

interface ChoiceProps {
  readonly name: string;
  readonly value: string | null;
  readonly of: ReviewQueue["tags"];
  readonly onChoose: (value: string | null) => void;
}

function Choice({ name, value, of, onChoose }: ChoiceProps) {
  if (of.length === 0 || (of.length === 1 && value === null)) return null;
  return (
    <select aria-label={name} value={value ?? ""} onChange={(event) => onChoose(event.currentTarget.value || null)}>
      <option value="">All {name.toLowerCase()}s</option>
      {value !== null && !of.some((one) => one.name === value) && <option value={value}>{value} (0)</option>}
      {of.map((one) => (
        <option key={one.name} value={one.name}>
          {one.name} ({one.count})
        </option>
      ))}
    </select>
  );
}
