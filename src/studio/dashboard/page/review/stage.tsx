import { useEffect, useRef, useState } from "preact/hooks";
import type { PageComment, PageMedia, PageStep, StepDetail } from "../../views/document.ts";
import { DecisionButtons, useDecision } from "../run/decision.tsx";
import { ShownValue } from "../run/shown-value.tsx";
import { get, post, runPath } from "../state/api.ts";
import { useCanAct } from "../state/live.ts";
import { runHref } from "../state/router.ts";
import { Button, Link, Wrong } from "../ui/bits.tsx";
import { differing, isInput } from "../ui/format.ts";
import { earlierLabel, useEarlier, useKeys, useLoaded } from "../ui/hooks.ts";
import { Player, Refused, useLightbox } from "../ui/media.tsx";
import { Data } from "../ui/panel.tsx";
import { About, Comments, MadeBy, NotMade } from "../ui/takes.tsx";
import { playOrPause, timeAt, usePlayersTogether } from "./players.ts";

interface Props {
  readonly runId: string;
  readonly title: string;
  readonly step: PageStep;
  readonly onDecided: () => void;
  readonly onMove: (by: number) => void;
}

const MOST_KEYS = 9;

export function Stage({ runId, title, step, onDecided, onMove }: Props) {
  const { shows, values, choose: isChoice, message, comments, compared, approved, note: noted } = step.decision!;
  const canAct = useCanAct();
  const deciding = useDecision(runId, step, onDecided);
  const { chosen, choose, note, setNote, canApprove, canReject } = deciding;
  const stage = useRef<HTMLOListElement>(null);
  const labelOf = (media: PageMedia) => (isChoice ? `Take ${shows.indexOf(media) + 1}` : media.step);
  const [enlarge, lightbox] = useLightbox(shows, labelOf);
  const [isDifferent, showDifferent] = useState(false);
  const earlier = useEarlier(runId, step);
  const [isCompared, compare] = useState(true);
  const before = isCompared ? earlier : [];
  const [added, add] = useState<readonly PageComment[]>([]);
  const takes = isChoice && canAct ? shows.slice(0, MOST_KEYS) : [];
  usePlayersTogether(stage);
  const act = (does: () => void) => (event: KeyboardEvent) => {
    event.preventDefault();
    does();
  };
  useKeys({
    ArrowRight: (event) => isFree(event) && onMove(1),
    ArrowLeft: (event) => isFree(event) && onMove(-1),
    " ": (event) => {
      if (!isFree(event) || stage.current === null) return;
      event.preventDefault();
      playOrPause(stage.current);
    },
    z: () => shows.some(({ url }) => url !== null) && enlarge(chosen ?? 0),
    e: () => compare(!isCompared),
    d: () => shows.length > 1 && showDifferent(!isDifferent),
    ...(canAct && {
      a: () => canApprove && deciding.approve(true),
      r: () => canReject && deciding.askSure(true),
      m: act(() => (note.trim() === "" ? document.getElementById("note")?.focus() : deciding.openRedo(canReject))),
      c: act(() => document.getElementById("comment")?.focus()),
    }),
    ...Object.fromEntries(takes.map((_, index) => [String(index + 1), () => choose(index)])),
  });
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus({ preventScroll: true }), []);
  const said = [...comments, ...added.filter((one) => !comments.some((known) => isSame(known, one)))];
  return (
    <section class="desk-stage" aria-label="The decision">
      <header>
        <h2 ref={heading} tabIndex={-1}>
          {message ?? step.path}
        </h2>
        <Link href={runHref(runId, "graph", { step: step.path })}>
          {title}, {step.path}
        </Link>
        {earlier.length > 0 && <Toggle name="Earlier attempts" shortcut="E" isOn={isCompared} onChange={compare} />}
        {shows.length > 1 && <Toggle name="Differences" shortcut="D" isOn={isDifferent} onChange={showDifferent} />}
      </header>
      <ol ref={stage} class={shows.length + before.length > 4 ? "stage many" : "stage"}>
        {values.map(({ step: from, value }) => (
          <li key={from}>
            <ShownValue runId={runId} step={step} value={value} deciding={canAct ? deciding : null} />
            <span class="quiet">{from}</span>
          </li>
        ))}
        {shows.map((media, index) => (
          <li key={`${media.step} ${media.index}`} class={isChoice && chosen === index ? "chosen" : ""}>
            <Player media={media} label={labelOf(media)} onEnlarge={() => enlarge(index)} />
            {takes.length > 0 && (
              <label>
                <input type="radio" name="reviewed" checked={chosen === index} onChange={() => choose(index)} /> Take{" "}
                {index + 1}
              </label>
            )}
            <MadeBy compared={compared} take={index} />
          </li>
        ))}
        {before.map((media) => (
          <li key={media.url}>
            <Player media={media} label={earlierLabel(media)} />
            <span class="quiet">{earlierLabel(media)}</span>
          </li>
        ))}
      </ol>
      {isDifferent && <Differences runId={runId} shows={shows} />}
      <NotMade compared={compared} />
      <Refused refused={step.refused} />
      <Comments comments={said} />
      {step.phase !== "approval" && deciding.sent === null && (
        <p class={approved === false ? "note bad" : "note good"} role="status">
          {approved === null ? "This decision is no longer open" : `Already ${approved ? "approved" : "rejected"}`}
          {noted === null ? "." : `: ${noted}`}
        </p>
      )}
      {canAct && step.phase === "approval" && (
        <footer>
          <RemarkForm
            runId={runId}
            step={step.path}
            takes={shows.length}
            timeOf={(take) => timeAt(stage.current?.children[values.length + take])}
            onSaid={(comment) => add([...added, comment])}
          />
          <div class="actions">
            <label class="note-field">
              <span class="unseen">Note (optional)</span>
              <input
                id="note"
                placeholder="Note (optional)"
                maxLength={2000}
                value={note}
                onInput={(event) => setNote(event.currentTarget.value)}
              />
            </label>
            <DecisionButtons runId={runId} step={step} deciding={deciding} goOn onRedone={onDecided} />
          </div>
          <Wrong text={deciding.error} />
        </footer>
      )}
      {lightbox}
    </section>
  );
}

interface ToggleProps {
  readonly name: string;
  readonly shortcut: string;
  readonly isOn: boolean;
  readonly onChange: (isOn: boolean) => void;
}

function Toggle({ name, shortcut, isOn, onChange }: ToggleProps) {
  const press = () => onChange(!isOn);
  return <Button label={name} look="small push" aria-keyshortcuts={shortcut} aria-pressed={isOn} onClick={press} />;
}

function isFree({ target }: KeyboardEvent): boolean {
  return !(target as HTMLElement).matches("video, audio, button, a, input, summary");
}

function isSame(a: PageComment, b: PageComment): boolean {
  return a.text === b.text && a.take === b.take && a.timeMs === b.timeMs;
}

function Differences({ runId, shows }: { readonly runId: string; readonly shows: readonly PageMedia[] }) {
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
  if (loaded.state === "loading") return <p class="quiet differences">Loading the inputs…</p>;
  if (loaded.state === "failed") return <p class="note bad differences">{loaded.error.message}</p>;
  const inputs = loaded.value.map((input) => (isInput(input) ? input : {}));
  const names = differing(inputs);
  if (names.length === 0) return <p class="quiet differences">All takes have the same input.</p>;
  return (
    <ol class="differences" aria-label="Input differences">
      {steps.map((step, index) => (
        <li key={step}>
          <b>{step}</b>
          <Data value={Object.fromEntries(names.map((name) => [name, inputs[index]![name] ?? "not set"]))} />
        </li>
      ))}
    </ol>
  );
}

interface RemarkProps {
  readonly runId: string;
  readonly step: string;
  readonly takes: number;
  readonly timeOf: (take: number) => number | null;
  readonly onSaid: (comment: PageComment) => void;
}

function RemarkForm({ runId, step, takes, timeOf, onSaid }: RemarkProps) {
  const [text, setText] = useState("");
  const [about, setAbout] = useState<number | null>(takes === 1 ? 0 : null);
  const [error, setError] = useState<string | null>(null);
  const send = async (event: SubmitEvent) => {
    event.preventDefault();
    const timeMs = about === null ? null : timeOf(about);
    setError(null);
    try {
      await post(`${runPath(runId)}/comment`, { step, text: text.trim(), take: about, timeMs });
      onSaid({ text: text.trim(), name: null, take: about, timeMs, at: Date.now() });
      setText("");
    } catch (failure) {
      setError((failure as Error).message);
    }
  };
  return (
    <form class="remark-form" onSubmit={send}>
      <label>
        <span class="unseen">Comment</span>
        <input
          id="comment"
          placeholder="Add a comment (records the playback position)"
          aria-keyshortcuts="C"
          maxLength={2000}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </label>
      <About takes={takes} about={about} onChange={setAbout} />
      <Button type="submit" label="Comment" disabled={text.trim() === ""} />
      <Wrong text={error} />
    </form>
  );
}
