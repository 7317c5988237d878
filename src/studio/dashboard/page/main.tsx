import { type ComponentChildren, render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { formatDuration } from "../../../core/kit/duration.ts";
import type { Gauges, InlinedRun } from "../views/document.ts";
import { ReviewScreen } from "./review/screen.tsx";
import { ClientReportPage } from "./run/results.tsx";
import { RunScreen } from "./run/screen.tsx";
import { CostsScreen } from "./screens/costs.tsx";
import { PlanScreen } from "./screens/plan.tsx";
import { RunsScreen } from "./screens/runs.tsx";
import { clientReport, inlined } from "./state/api.ts";
import { type Connection, connection, follow, gauges, visitor } from "./state/live.ts";
import { type Route, useRoute } from "./state/router.ts";
import { useStore } from "./state/store.ts";
import { Empty, IconButton, Link, Mark, Meter } from "./ui/bits.tsx";
import { dateTime, usd } from "./ui/format.ts";
import "./style/index.css";

export function App() {
  const route = useRoute();
  const isLocked = useStore(connection) === "locked";
  const runId = route.screen === "run" ? route.id : null;
  useEffect(() => follow(runId), [runId]);
  useEffect(() => {
    if (inlined === null) document.title = runId === null ? "Showrunner" : `${runId} · Showrunner`;
  }, [runId]);
  if (inlined !== null) return <Report run={inlined} />;
  return <Shell route={route}>{isLocked ? <Locked /> : <Screen />}</Shell>;
}

function Screen() {
  const route = useRoute();
  switch (route.screen) {
    case "runs":
      return <RunsScreen search={route.search} status={route.status} />;
    case "run":
      return <RunScreen key={route.id} route={route} />;
    case "review":
      return <ReviewScreen route={route} />;
    case "plan":
      return <PlanScreen />;
    case "costs":
      return <CostsScreen />;
    case "unknown":
      return (
        <Empty title="Page not found" isAll>
          <p>
            <Link href="/">All runs</Link>
          </p>
        </Empty>
      );
    default:
      return route satisfies never;
  }
}

function Locked() {
  return (
    <Empty title="The dashboard was restarted" isAll>
      <p>
        Open the address that <code>showrunner dashboard</code> printed last; it contains a new token.
      </p>
    </Empty>
  );
}

function Report({ run: { patch, version, writtenAt } }: { readonly run: InlinedRun }) {
  const { head } = patch;
  return (
    <>
      <header class="top">
        <span class="brand">
          <Mark />
          <span>Showrunner</span>
        </span>
        <span class="quiet push">
          {head.status === "running" ? "As of" : "Written on"} {dateTime(writtenAt)}
          <span class="unseen">by Showrunner {version}</span>
        </span>
      </header>
      <main id="main">
        <Screen />
      </main>
    </>
  );
}

export type Theme = "system" | "light" | "dark";

const KEY = "showrunner.theme";

export function savedTheme(): Theme {
  const saved = localStorage.getItem(KEY);
  return saved === "light" || saved === "dark" ? saved : "system";
}

export function applyTheme(theme: Theme = savedTheme()): void {
  localStorage.setItem(KEY, theme);
  document.documentElement.dataset.theme = theme;
}

const screens = [
  { name: "Runs", href: "/", screens: ["runs", "run"] },
  { name: "Review", href: "/review", screens: ["review"] },
  { name: "Plan", href: "/plan", screens: ["plan"] },
  { name: "Costs", href: "/costs", screens: ["costs"] },
] as const;

export function Shell({ route, children }: { readonly route: Route; readonly children: ComponentChildren }) {
  const state = useStore(connection);
  const { role } = useStore(visitor);
  return (
    <>
      <a class="skip" href="#main">
        Skip to content
      </a>
      <header class="top">
        <Link class="brand" href="/" aria-label="Showrunner, all runs">
          <Mark />
          <span>Showrunner</span>
        </Link>
        <nav aria-label="Main">
          {screens.map(({ name, href, screens: own }) => (
            <Link
              key={name}
              href={href}
              aria-current={(own as readonly string[]).includes(route.screen) ? "page" : undefined}
            >
              {name}
            </Link>
          ))}
        </nav>
        <GaugeBar gauges={useStore(gauges)} />
        {role === "viewer" && <span class="who">read-only</span>}
        <Beacon state={state} />
        <ThemeButton />
      </header>
      <main id="main" tabIndex={-1}>
        {children}
      </main>
    </>
  );
}

function GaugeBar({ gauges }: { readonly gauges: Gauges | null }) {
  if (gauges === null) return <div class="gauges" />;
  const { balanceMicros, balanceError, pace } = gauges;
  const limit = pace.limitPerMinute;
  const requests = limit === null ? `${pace.lastMinute}` : `${pace.lastMinute} of ${limit}`;
  return (
    <div class="gauges">
      <div class="gauge" title={balanceError ?? "Wallet balance"}>
        <span>Wallet</span>
        <b>{balanceMicros === null ? "unknown" : usd(balanceMicros)}</b>
      </div>
      <div
        class="gauge requests"
        title="Requests that this dashboard sent in the last minute, and the API key's limit if it is known"
      >
        <span>Requests per minute</span>
        <b>{requests}</b>
        {limit !== null && <Meter label={`${requests} requests per minute`} value={pace.lastMinute} most={limit} />}
        {pace.pausedUntil !== null && pace.pausedUntil > Date.now() && (
          <em>next in {formatDuration(pace.pausedUntil - Date.now())}</em>
        )}
      </div>
    </div>
  );
}

const beacons: Readonly<Record<Connection, string>> = {
  connecting: "Connecting",
  live: "Live",
  lost: "Reconnecting",
  locked: "Locked",
};

function Beacon({ state }: { readonly state: Connection }) {
  return (
    <span class={`beacon ${state}`} role="status">
      <span class="dot" aria-hidden="true" />
      <span class="word">{beacons[state]}</span>
    </span>
  );
}

const themes: Readonly<Record<Theme, { readonly next: Theme; readonly icon: "auto" | "sun" | "moon" }>> = {
  system: { next: "light", icon: "auto" },
  light: { next: "dark", icon: "sun" },
  dark: { next: "system", icon: "moon" },
};

function ThemeButton() {
  const [theme, setTheme] = useState(savedTheme());
  const { next, icon } = themes[theme];
  const change = () => {
    applyTheme(next);
    setTheme(next);
  };
  return <IconButton label={`Theme: ${theme}. Change to ${next}`} icon={icon} look="quiet" onClick={change} />;
}

if (inlined === null && clientReport === null) applyTheme();
const page = clientReport === null ? <App /> : <ClientReportPage report={clientReport} />;
render(page, document.getElementById("app")!);
