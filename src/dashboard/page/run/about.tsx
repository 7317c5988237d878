import type { GivenView } from "../../views/run-wire.ts";
import { get, runPath } from "../state/api.ts";
import type { RunModel } from "../state/run-store.ts";
import { usd } from "../ui/format.ts";
import { useLoaded } from "../ui/hooks.ts";
import { Data } from "../ui/panel.tsx";

/** What the run was given, and where it runs. */
export function AboutTab({ model: { head } }: { readonly model: RunModel }) {
  const given = useLoaded((signal) => get<GivenView>(`${runPath(head.id)}/given`, signal), [head.id]);
  const { pipeline, source, tags, baseUrl, keyId, outDir, jobsAtOnce, maxUnquotedMicros, seq } = head;
  const settings = {
    Pipeline: source === null ? pipeline : `${pipeline}, from ${source}`,
    ...(tags.length > 0 && { Tags: tags.join(", ") }),
    Service: `${baseUrl}, key ${keyId}`,
    Files: outDir,
    "Jobs at once": String(jobsAtOnce),
    ...(maxUnquotedMicros !== null && { "Without a quote": `at most ${usd(maxUnquotedMicros)} a job` }),
    Journal: `${seq} events`,
  };
  return (
    <div class="costs about">
      <h2>Input</h2>
      {given.state === "loading" && <p class="quiet">Reading…</p>}
      {given.state === "failed" && <p class="note bad">{given.error.message}</p>}
      {given.state === "ready" && <Data value={given.value.input} />}
      {given.state === "ready" && given.value.isCut && (
        <p class="quiet">Long texts are cut here; the journal holds them whole.</p>
      )}
      <h2>Settings</h2>
      <Data value={settings} />
    </div>
  );
}
