import { useEffect, useMemo, useState } from "preact/hooks";
import type { EventLine, GivenInput } from "../../views/document.ts";
import { GraphTab } from "../graph/graph-tab.tsx";
import { get, inlined, runPath } from "../state/api.ts";
import { run as runView } from "../state/live.ts";
import { go, type Route, runHref, TABS, type Tab } from "../state/router.ts";
import type { RunModel } from "../state/run-store.ts";
import { useStore } from "../state/store.ts";
import { Button, Empty, Link, Problem, StepLink } from "../ui/bits.tsx";
import { clockTime, count, dateTime, usd } from "../ui/format.ts";
import { useKeys, useLoaded, useStep } from "../ui/hooks.ts";
import { Data } from "../ui/panel.tsx";
import { VirtualList } from "../ui/virtual.tsx";
import { CostsTab } from "./costs.tsx";
import { RunHeader } from "./header.tsx";
import { ResultsTab } from "./results.tsx";
import { GroupPanel, StepPanel } from "./step-panel.tsx";
import { TimelineTab } from "./timeline.tsx";

export type RunRoute = Extract<Route, { readonly screen: "run" }>;

const tabNames: Readonly<Record<Tab, string>> = {
  graph: "Graph",
  results: "Results",
  timeline: "Timeline",
  costs: "Costs",
  log: "Log",
  about: "About",
};

export function RunScreen({ route }: { readonly route: RunRoute }) {
  const view = useStore(runView);
  switch (view.state) {
    case "none":
    case "loading":
      return <p class="quiet page">Loading {route.id}…</p>;
    case "missing":
      return (
        <Empty title="Run not found" isAll>
          <p>
            The journal has no run named <code>{route.id}</code>. <Link href="/">All runs</Link>
          </p>
        </Empty>
      );
    case "broken":
      return (
        <div class="page">
          <h1>{route.id}</h1>
          <Problem title="This run cannot be shown">{view.message}</Problem>
        </div>
      );
    case "ready":
      return <Ready route={route} model={view.model} />;
    default:
      return view satisfies never;
  }
}

function Ready({ route, model }: { readonly route: RunRoute; readonly model: RunModel }) {
  const { id, tab, step, group } = route;
  const open = (path: string | null) => go(runHref(id, tab, { step: path, group: path === null ? null : group }));
  const openGroup = (key: string | null) => go(runHref(id, tab, { group: key }));
  const shut = () => {
    if (step !== null) openGroup(group);
    else if (group !== null) openGroup(null);
  };
  useKeys({
    Escape: shut,
    ...Object.fromEntries(TABS.map((name, index) => [String(index + 1), () => go(runHref(id, name, { step, group }))])),
  });
  const chosen = useStep(model, step);
  return (
    <div class="run-screen">
      <RunHeader model={model} open={step} onOpen={open} />
      <Announcer model={model} />
      <div class="tabs" role="tablist" aria-label="Views of this run">
        {TABS.map((name) => (
          <TabButton key={name} name={name} route={route} />
        ))}
      </div>
      <div class={chosen !== undefined || group !== null ? "split open" : "split"}>
        <div class="view" role="tabpanel" id="view" aria-labelledby={`tab-${tab}`}>
          {tab === "graph" && <GraphTab model={model} step={step} group={group} onOpen={open} onGroup={openGroup} />}
          {tab === "results" && <ResultsTab model={model} onOpen={open} />}
          {tab === "timeline" && <TimelineTab model={model} step={step} onOpen={open} />}
          {tab === "costs" && <CostsTab model={model} onOpen={open} />}
          {tab === "log" && <LogTab model={model} onOpen={open} />}
          {tab === "about" && <AboutTab model={model} />}
        </div>
        {chosen !== undefined && (
          <StepPanel key={chosen.path} runId={id} step={chosen} model={model} onOpen={open} onClose={shut} />
        )}
        {chosen === undefined && group !== null && (
          <GroupPanel model={model} group={group} onOpen={open} onClose={shut} />
        )}
      </div>
    </div>
  );
}

function TabButton({ name, route }: { readonly name: Tab; readonly route: RunRoute }) {
  const isChosen = route.tab === name;
  const choose = (tab: Tab) => go(runHref(route.id, tab, { step: route.step, group: route.group }));
  const moved = (event: KeyboardEvent) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    const next = TABS[(TABS.indexOf(name) + by + TABS.length) % TABS.length]!;
    choose(next);
    document.getElementById(`tab-${next}`)?.focus();
  };
  return (
    <button
      type="button"
      role="tab"
      id={`tab-${name}`}
      aria-selected={isChosen}
      aria-controls="view"
      tabIndex={isChosen ? 0 : -1}
      onClick={() => choose(name)}
      onKeyDown={moved}
    >
      {tabNames[name]}
    </button>
  );
}

function Announcer({ model }: { readonly model: RunModel }) {
  const { status, pause, counts } = model.head;
  const [said, say] = useState("");
  useEffect(() => say(pause === null ? `Run ${status}` : `Run paused: ${pause.message}`), [status, pause?.message]);
  useEffect(() => {
    if (counts.failed > 0) say(`${counts.failed} of ${counts.total} steps failed`);
  }, [counts.failed]);
  return (
    <p class="unseen" role="status">
      {said}
    </p>
  );
}

function AboutTab({ model: { head } }: { readonly model: RunModel }) {
  const given = useLoaded((signal) => get<GivenInput>(`${runPath(head.id)}/given`, signal), [head.id]);
  const { pipeline, source, tags, baseUrl, keyId, outDir, jobsAtOnce, maxUnquotedMicros, seq } = head;
  const settings = {
    Pipeline: source === null ? pipeline : `${pipeline}, from ${source}`,
    ...(tags.length > 0 && { Tags: tags.join(", ") }),
    Service: `${baseUrl}, key ${keyId}`,
    Files: outDir,
    "Concurrent jobs": String(jobsAtOnce),
    ...(maxUnquotedMicros !== null && { "Without a quote": `at most ${usd(maxUnquotedMicros)} per job` }),
    Journal: `${seq} events`,
  };
  return (
    <div class="costs about">
      <h2>Input</h2>
      {given.state === "loading" && <p class="quiet">Loading…</p>}
      {given.state === "failed" && <p class="note bad">{given.error.message}</p>}
      {given.state === "ready" && <Data value={given.value.input} />}
      {given.state === "ready" && given.value.isCut && (
        <p class="quiet">Long texts are shortened here; the journal has them in full.</p>
      )}
      <h2>Settings</h2>
      <Data value={settings} />
    </div>
  );
}

function LogTab({ model, onOpen }: { readonly model: RunModel; readonly onOpen: (step: string) => void }) {
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
          <Button label={`Load ${Math.min(500, first - 1)} earlier`} look="small" data-before={first} onClick={load} />
        )}
        {error !== null && <span class="note bad">{error}</span>}
      </div>
      {lines.length === 0 ? (
        <Empty title="No matching events" />
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
      {step === null ? <span /> : <StepLink step={step} onOpen={onOpen} />}
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
