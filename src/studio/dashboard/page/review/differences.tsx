import type { MediaView, StepDetail } from "../../views/run-wire.ts";
import { get, runPath } from "../state/api.ts";
import { useLoaded } from "../ui/hooks.ts";
import { Data } from "../ui/panel.tsx";
import { differing, type Input } from "./differing.ts";

/** In what the inputs of the takes differ, side by side. */
export function Differences({ runId, shows }: { readonly runId: string; readonly shows: readonly MediaView[] }) {
  const steps = [...new Set(shows.map(({ step }) => step))];
  const loaded = useLoaded(
    (signal) =>
      Promise.all(
        steps.map((path) =>
          get<StepDetail>(`${runPath(runId)}/step?path=${encodeURIComponent(path)}`, signal).then(({ input }) => input),
        ),
      ),
    [runId, steps.join()],
  );
  if (loaded.state === "loading") return <p class="quiet differences">Reading what they were made from…</p>;
  if (loaded.state === "failed") return <p class="note bad differences">{loaded.error.message}</p>;
  const inputs = loaded.value.map((input) => (isInput(input) ? input : {}));
  const names = differing(inputs);
  if (names.length === 0) return <p class="quiet differences">All of them were made from the same input.</p>;
  return (
    <ol class="differences" aria-label="Differences of the inputs">
      {steps.map((step, index) => (
        <li key={step}>
          <b>{step}</b>
          <Data value={Object.fromEntries(names.map((name) => [name, inputs[index]![name] ?? "not given"]))} />
        </li>
      ))}
    </ol>
  );
}

function isInput(value: unknown): value is Input {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
