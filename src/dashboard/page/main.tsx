import { render } from "preact";
import { applyTheme } from "./state/theme.ts";
import "./style/index.css";
import { useEffect } from "preact/hooks";
import { RunScreen } from "./run/screen.tsx";
import { PlanScreen } from "./screens/plan.tsx";
import { RunsScreen } from "./screens/runs.tsx";
import { ServiceScreen } from "./screens/service.tsx";
import { Shell } from "./shell.tsx";
import { connection, follow } from "./state/live.ts";
import { useRoute } from "./state/router.ts";
import { useStore } from "./state/store.ts";
import { Empty, Link } from "./ui/bits.tsx";

export function App() {
  const route = useRoute();
  const isLocked = useStore(connection) === "locked";
  const runId = route.screen === "run" ? route.id : null;
  useEffect(() => follow(runId), [runId]);
  useEffect(() => {
    document.title = runId === null ? "Showrunner" : `${runId} · Showrunner`;
  }, [runId]);
  return <Shell route={route}>{isLocked ? <Locked /> : <Screen />}</Shell>;
}

function Screen() {
  const route = useRoute();
  switch (route.screen) {
    case "runs":
      return <RunsScreen />;
    case "run":
      return <RunScreen key={route.id} route={route} />;
    case "plan":
      return <PlanScreen />;
    case "service":
      return <ServiceScreen />;
    case "unknown":
      return (
        <Empty title="There is nothing here" isAll>
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
    <Empty title="This dashboard was started anew" isAll>
      <p>
        Open the address that <code>showrunner dashboard</code> printed last; it holds a new token.
      </p>
    </Empty>
  );
}

applyTheme();
render(<App />, document.getElementById("app")!);
