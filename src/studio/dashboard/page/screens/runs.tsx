import { useEffect, useId, useRef, useState } from "preact/hooks";
import { DAY_MS, formatDuration } from "../../../../core/kit/duration.ts";
import type { ReviewLinkView, RunSummary, RunsPage } from "../../views/document.ts";
import { get, post } from "../state/api.ts";
import { listVersion, useCanAct, useCommands } from "../state/live.ts";
import { go, runHref, runsHref } from "../state/router.ts";
import { useStore } from "../state/store.ts";
import { Button, Chips, Empty, Link, Pill, Problem, runTone, StepBar, TextField, Wrong } from "../ui/bits.tsx";
import { ago, count, dateTime, pauses, pauseText, usd } from "../ui/format.ts";
import { useKeys, useLoaded, useNow, useThrottled } from "../ui/hooks.ts";
import { Thumb } from "../ui/media.tsx";
import { Dialog } from "../ui/panel.tsx";

const PAGE = 50;
/** Maximum number of runs to list. Older runs can be found by searching. */
const MOST_ROWS = 1000;
const statuses = ["running", "interrupted", "paused", "planned", "succeeded", "partial", "failed", "cancelled"];

export function RunsScreen({ search, status }: { readonly search: string; readonly status: string | null }) {
  const [limit, setLimit] = useState(PAGE);
  const box = useRef<HTMLInputElement>(null);
  const version = useThrottled(useStore(listVersion), 400);
  const term = useThrottled(search, 150);
  const show = (wanted: Partial<{ search: string; status: string | null }>, how: "push" | "replace") =>
    go(runsHref({ search, status, ...wanted }), how);
  const query = new URLSearchParams({ q: term, limit: String(limit), ...(status !== null && { status }) });
  const loaded = useLoaded((signal) => get<RunsPage>(`/api/runs?${query}`, signal), [version, term, status, limit]);
  useKeys({
    "/": (event) => {
      event.preventDefault();
      box.current?.focus();
    },
  });
  useEffect(() => setLimit(PAGE), [term, status]);
  return (
    <div class="page">
      <h1>Runs</h1>
      <div class="filters">
        <search class="search">
          <input
            ref={box}
            type="search"
            placeholder="Search names, tags and inputs"
            aria-label="Search runs by name, tag or input"
            aria-keyshortcuts="/"
            value={search}
            onInput={(event) => show({ search: event.currentTarget.value }, "replace")}
          />
          <span class="key">/</span>
        </search>
        {loaded.state === "ready" && (
          <Chips
            legend="Show runs that are"
            chips={chipsOf(loaded.value)}
            chosen={status}
            onChoose={(chosen) => show({ status: chosen }, "push")}
          />
        )}
        <ReviewLinksButton />
      </div>
      {loaded.state === "failed" && <Problem title="The runs could not be loaded">{loaded.error.message}</Problem>}
      {loaded.state === "loading" && <p class="quiet">Loading runs…</p>}
      {loaded.state === "ready" && (
        <Found page={loaded.value} isFiltered={term !== "" || status !== null} onMore={() => setLimit(limit + PAGE)} />
      )}
    </div>
  );
}

function chipsOf({ byStatus }: RunsPage) {
  const all = Object.values(byStatus).reduce((sum, number) => sum + number, 0);
  const found = statuses.filter((status) => byStatus[status] !== undefined);
  return [
    { value: null, text: "all", number: all },
    ...found.map((status) => ({ value: status, text: status, number: byStatus[status]! })),
  ];
}

interface FoundProps {
  readonly page: RunsPage;
  readonly isFiltered: boolean;
  readonly onMore: () => void;
}

function Found({ page, isFiltered, onMore }: FoundProps) {
  const now = useNow(true);
  const commands = useCommands();
  if (page.rows.length === 0 && isFiltered) return <Empty title="No matching runs" />;
  if (page.rows.length === 0) {
    return (
      <Empty title="No runs yet">
        <p>
          Start one on the command line and it appears here:{" "}
          <code>{commands("showrunner run recipes/talking-avatar.ts")}</code>
        </p>
      </Empty>
    );
  }
  const asking = page.rows.filter(waitsForSomebody);
  const others = page.rows.filter((run) => !waitsForSomebody(run));
  return (
    <>
      <RunTable title="Waiting for you" label="Runs waiting for you" rows={asking} now={now} />
      <RunTable title={asking.length > 0 ? "Other runs" : "All runs"} label="Runs" rows={others} now={now} />
      {page.rows.length < Math.min(page.matching, MOST_ROWS) && (
        <Button label={`Show more of ${count(page.matching, "run")}`} look="more" onClick={onMore} />
      )}
    </>
  );
}

function waitsForSomebody({ status }: RunSummary): boolean {
  return status === "paused" || status === "interrupted";
}

interface TableProps {
  readonly title: string;
  readonly label: string;
  readonly rows: readonly RunSummary[];
  readonly now: number;
}

function RunTable({ title, label, rows, now }: TableProps) {
  const id = useId();
  if (rows.length === 0) return null;
  return (
    <section aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      <ul class="runs" aria-label={label}>
        {rows.map((run) => (
          <RunRow key={run.id} run={run} now={now} />
        ))}
      </ul>
    </section>
  );
}

function RunRow({ run, now }: { readonly run: RunSummary; readonly now: number }) {
  const { counts } = run;
  const commands = useCommands();
  const said = run.pause === null ? run.message : pauseText(run.pause, run.decisions);
  const took = run.finishedAt === null ? null : formatDuration(run.tookMs);
  return (
    <li>
      <Link class="run" href={runHref(run.id)}>
        <span class="covers">
          {run.covers.length === 0 ? (
            <span class="thumb blank" />
          ) : (
            run.covers.slice(0, 3).map((cover) => <Thumb key={`${cover.step} ${cover.index}`} media={cover} label="" />)
          )}
        </span>
        <span class="name">
          <b>{run.title ?? run.id}</b>
          <small>{[...(run.title === null ? [] : [run.id]), run.pipeline, ...run.tags].join(" · ")}</small>
        </span>
        <span class="state">
          <Pill tone={runTone(run.status)}>{run.pause === null ? run.status : pauses[run.pause.reason].word}</Pill>
          {said !== null && <small>{commands(said)}</small>}
        </span>
        <span class="steps">
          <StepBar counts={counts} />
          <small>
            {counts.done} of {counts.total}
          </small>
        </span>
        <span class="money">
          <b>{usd(run.spentMicros)}</b>
          <small>
            {run.budgetMicros === null
              ? "no budget"
              : `of ${run.budgetTag === null ? "" : "shared "}${usd(run.budgetMicros)}`}
          </small>
        </span>
        <span class="when">
          <time dateTime={new Date(run.createdAt).toISOString()}>{ago(run.createdAt, now)}</time>
          <small>{took === null ? "" : `took ${took}`}</small>
        </span>
      </Link>
    </li>
  );
}

const lives = [1, 7, 30, 90];

function ReviewLinksButton() {
  const canAct = useCanAct();
  const [isOpen, setOpen] = useState(false);
  if (!canAct) return null;
  return (
    <>
      <Button label="Review links…" onClick={() => setOpen(true)} />
      {isOpen && <ReviewLinks onClose={() => setOpen(false)} />}
    </>
  );
}

function ReviewLinks({ onClose }: { readonly onClose: () => void }) {
  const [tag, setTag] = useState("");
  const [days, setDays] = useState(7);
  const [url, setUrl] = useState<string | null>(null);
  const isMade = useRef(false);
  const create = async () => {
    const made = await post<{ readonly url: string }>("/api/review-links", {
      tags: [tag.trim()],
      expiresMs: days * DAY_MS,
    });
    isMade.current = true;
    setUrl(made.url);
  };
  if (url !== null) {
    return (
      <Dialog key="made" title="Link created" action="Done" onAction={async () => {}} onClose={onClose}>
        <TextField
          label="Send this address to the client"
          hint="This address is shown only once. Anyone who has it can make decisions."
          readOnly
          value={url}
          onText={() => {}}
          onFocus={(event) => event.currentTarget.select()}
        />
      </Dialog>
    );
  }
  return (
    <Dialog
      title="Review link for a client"
      action="Create link"
      ready={/^[^=]+=./.test(tag.trim())}
      onAction={create}
      onClose={() => isMade.current || onClose()}
    >
      <TextField
        label="Runs with this tag"
        hint="The link shows only the decisions in these runs."
        placeholder="client=acme"
        value={tag}
        onText={setTag}
      />
      <label class="field">
        <span>Valid for</span>
        <select value={days} onChange={(event) => setDays(Number(event.currentTarget.value))}>
          {lives.map((life) => (
            <option key={life} value={life}>
              {life === 1 ? "1 day" : `${life} days`}
            </option>
          ))}
        </select>
      </label>
      <Active />
    </Dialog>
  );
}

function Active() {
  const [version, setVersion] = useState(0);
  const [error, setError] = useState<string | null>(null);
  const loaded = useLoaded((signal) => get<readonly ReviewLinkView[]>("/api/review-links", signal), [version]);
  const revoke = async (id: string) => {
    await post("/api/review-links/revoke", { id }).then(
      () => setVersion(version + 1),
      (failure: Error) => setError(failure.message),
    );
  };
  const active = loaded.state === "ready" ? loaded.value.filter(({ status }) => status === "active") : [];
  return (
    <>
      <Wrong text={error} />
      {active.length > 0 && (
        <ul class="attempts" aria-label="Valid links">
          {active.map(({ id, tags, runId, step, expiresAt }) => (
            <li key={id}>
              <span>
                {[...tags, runId, step].filter(Boolean).join(", ")}
                <br />
                <small>until {dateTime(expiresAt)}</small>
              </span>
              <Button label="Revoke" look="small danger" onClick={() => revoke(id)} />
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
