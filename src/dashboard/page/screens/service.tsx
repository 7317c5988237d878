import { useState } from "preact/hooks";
import type { LocalView, ServiceView } from "../../views/action-wire.ts";
import { FundsDialog } from "../run/dialogs.tsx";
import { get, post } from "../state/api.ts";
import { gauges, useCanAct } from "../state/live.ts";
import { useStore } from "../state/store.ts";
import { Empty, Fact, Problem } from "../ui/bits.tsx";
import { count, usd } from "../ui/format.ts";
import { useLoaded, useNow } from "../ui/hooks.ts";

/** The service that the jobs go to; of a local one also its inside, and what may go wrong there. */
export function ServiceScreen() {
  const [changes, setChanges] = useState(0);
  const beat = Math.floor(useNow(true) / 3000);
  const loaded = useLoaded((signal) => get<ServiceView>("/api/service", signal), [beat, changes]);
  if (loaded.state === "loading") return <p class="quiet page">Asking the service…</p>;
  if (loaded.state === "failed") {
    return (
      <div class="page">
        <h1>Service</h1>
        <Problem title="The service does not answer">{loaded.error.message}</Problem>
      </div>
    );
  }
  const { kind, baseUrl, keyId, local } = loaded.value;
  return (
    <div class="page">
      <h1>Service</h1>
      <Account kind={kind} baseUrl={baseUrl} keyId={keyId} />
      {local === null ? (
        <p class="quiet">A hosted service: what it does inside is not shown here.</p>
      ) : (
        <Local local={local} onChange={() => setChanges(changes + 1)} />
      )}
    </div>
  );
}

function Account({ kind, baseUrl, keyId }: Pick<ServiceView, "kind" | "baseUrl" | "keyId">) {
  const now = useStore(gauges);
  return (
    <dl class="facts">
      <Fact name="Address" hint={kind === "local" ? "on this machine, play money" : "hosted, real money"}>
        <b class="address">{baseUrl}</b>
      </Fact>
      <Fact name="Key">
        <b class="address">{keyId ?? "–"}</b>
      </Fact>
      <Fact name="Wallet" {...(now?.balanceError != null && { hint: now.balanceError })}>
        <b>{usd(now?.balanceMicros ?? null)}</b>
      </Fact>
      <Fact name="Requests" hint="by this dashboard">
        <b>{now?.pace.sent ?? "–"}</b>
      </Fact>
    </dl>
  );
}

function Local({ local, onChange }: { readonly local: LocalView; readonly onChange: () => void }) {
  const canAct = useCanAct();
  const [isFunding, setFunding] = useState(false);
  return (
    <>
      <section aria-labelledby="inside">
        <div class="section-head">
          <h2 id="inside">Local service</h2>
          {canAct && (
            <button type="button" class="button" onClick={() => setFunding(true)}>
              Add funds…
            </button>
          )}
        </div>
        <dl class="facts">
          <Fact name="Jobs created">
            <b>{local.jobs}</b>
          </Fact>
          <Fact name="Running now">
            <b>{local.runningJobs}</b>
          </Fact>
          <Fact name="Charged" hint={local.refundedMicros > 0 ? `${usd(local.refundedMicros)} refunded` : ""}>
            <b>{usd(local.chargedMicros)}</b>
          </Fact>
          <Fact name="Repeated submits" hint="recognised by their key, not charged again">
            <b>{local.replayedSubmits}</b>
          </Fact>
        </dl>
      </section>
      <Faults local={local} onChange={onChange} />
      <Requests local={local} />
      {isFunding && (
        <FundsDialog
          head={null}
          onClose={() => {
            setFunding(false);
            onChange();
          }}
        />
      )}
    </>
  );
}

interface Preset {
  readonly name: string;
  readonly what: string;
  readonly rules: readonly Readonly<Record<string, unknown>>[];
}

const presets: readonly Preset[] = [
  {
    name: "Lost answers",
    what: "Every third submit creates its job, and its answer gets lost.",
    rules: [{ kind: "drop", when: "after", route: "POST /models/{model}", probability: 0.34 }],
  },
  {
    name: "Failing jobs",
    what: "One job in four ends with an error and is refunded.",
    rules: [{ kind: "fail_job", probability: 0.25 }],
  },
  {
    name: "Errors now and then",
    what: "One request in five is answered with 503.",
    rules: [{ kind: "error", code: "UNAVAILABLE", probability: 0.2 }],
  },
  {
    name: "Cut streams",
    what: "Progress streams break off after two events.",
    rules: [{ kind: "cut_stream", after_frames: 2 }],
  },
  {
    name: "Slow answers",
    what: "Every request takes a second and a half longer.",
    rules: [{ kind: "delay", delay_ms: 1500 }],
  },
];

function Faults({ local, onChange }: { readonly local: LocalView; readonly onChange: () => void }) {
  const canAct = useCanAct();
  const [error, setError] = useState<string | null>(null);
  const set = async (rules: Preset["rules"]) => {
    setError(null);
    try {
      await post("/api/service/faults", { rules });
      onChange();
    } catch (failure) {
      setError((failure as Error).message);
    }
  };
  return (
    <section aria-labelledby="faults">
      <div class="section-head">
        <h2 id="faults">Faults</h2>
        {local.faults.length > 0 && (
          <button type="button" class="button" disabled={!canAct} onClick={() => set([])}>
            Turn all off
          </button>
        )}
      </div>
      <p class="quiet">See how a run takes it when things go wrong. One set at a time.</p>
      {error !== null && <Problem title="The faults were not changed">{error}</Problem>}
      {local.faults.length > 0 && (
        <ul class="struck" aria-label="Faults that are on">
          {local.faults.map(({ kind, text, struck }, index) => (
            <li key={index}>
              <b>{kind.replaceAll("_", " ")}</b> <span>{text}</span> <em>struck {count(struck, "time")}</em>
            </li>
          ))}
        </ul>
      )}
      <ul class="presets">
        {presets.map(({ name, what, rules }) => (
          <li key={name}>
            <button type="button" class="preset" disabled={!canAct} onClick={() => set(rules)}>
              <b>{name}</b>
              <span>{what}</span>
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Requests({ local }: { readonly local: LocalView }) {
  if (local.requests.length === 0) return <Empty title="No requests yet" />;
  return (
    <section aria-labelledby="requests">
      <h2 id="requests">Requests since it started</h2>
      <div class="scroll">
        <table>
          <thead>
            <tr>
              <th scope="col">Route</th>
              <th scope="col" class="number">
                Answered
              </th>
              <th scope="col" class="number">
                With an error
              </th>
            </tr>
          </thead>
          <tbody>
            {local.requests.map(({ route, count: number, failed }) => (
              <tr key={route}>
                <th scope="row">{route}</th>
                <td class="number">{number}</td>
                <td class="number">{failed === 0 ? "–" : failed}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
