import { render } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { SharedDecision, SharedPage, SharedTake } from "../../views/document.ts";
import type { Refused } from "../state/api.ts";
import { TextField } from "../ui/bits.tsx";
import { count, dateTime } from "../ui/format.ts";
import "../style/index.css";
import "./shared.css";
import { ask, Decision } from "./decision.tsx";

const EVERY_MS = 10_000;
const NAME = "showrunner.reviewer";

function Shared() {
  const [page, setPage] = useState<SharedPage | null>(null);
  const [error, setError] = useState<Refused | null>(null);
  const [name, setName] = useState(() => localStorage.getItem(NAME) ?? "");
  const places = useRef(new Map<string, number>());
  const files = useRef(new Map<string, SharedTake>());
  const load = async () => {
    try {
      setPage(await ask<SharedPage>("decisions"));
      setError(null);
    } catch (failure) {
      setError(failure as Refused);
    }
  };
  useEffect(() => {
    void load();
    const timer = setInterval(() => document.visibilityState === "visible" && void load(), EVERY_MS);
    const changed = () => void load();
    addEventListener("hashchange", changed);
    return () => {
      clearInterval(timer);
      removeEventListener("hashchange", changed);
    };
  }, []);
  const isOver = error !== null && error.status >= 400 && error.status < 500;
  if (isOver || page === null) {
    return (
      <main class="shared alone">
        <h1>{error === null ? "Opening…" : "This link cannot be opened"}</h1>
        <p role="status">{error?.message ?? ""}</p>
      </main>
    );
  }
  const rename = (text: string) => {
    setName(text);
    localStorage.setItem(NAME, text);
  };
  const replace = (decided: SharedDecision) =>
    setPage(
      (now) => now && { ...now, decisions: now.decisions.map((one) => (one.ref === decided.ref ? decided : one)) },
    );
  const ordered = kept(page.decisions, places.current);
  const waiting = ordered.filter(({ status }) => status === "waiting").length;
  return (
    <main class="shared">
      <header>
        <h1>{waiting === 0 ? "Nothing to decide" : `${count(waiting, "decision")} to make`}</h1>
        <p class="quiet">This link is valid until {dateTime(page.expiresAt)}.</p>
        <TextField
          label="Your name"
          hint="Stored with your decisions."
          maxLength={60}
          autocomplete="name"
          required
          value={name}
          onText={rename}
        />
        {error !== null && (
          <p role="status" class="note bad">
            {error.message}
          </p>
        )}
      </header>
      {ordered.map((decision) => (
        <Decision
          key={decision.ref}
          decision={{
            ...decision,
            takes: decision.takes.map((take, at) => lasting(files.current, `${decision.ref} ${at}`, take)),
          }}
          name={name.trim()}
          onDecided={replace}
          onRefused={load}
        />
      ))}
      {page.more > 0 && <p class="quiet">{count(page.more, "more decision")} will appear here as you decide.</p>}
    </main>
  );
}

/** Sorts decisions by their order of arrival, so that nothing moves while someone decides. */
function kept(decisions: readonly SharedDecision[], places: Map<string, number>): readonly SharedDecision[] {
  for (const { ref } of decisions) if (!places.has(ref)) places.set(ref, places.size);
  return decisions.toSorted((one, other) => places.get(one.ref)! - places.get(other.ref)!);
}

/** Returns the take with its earlier URL while that URL is valid, because a new URL would restart the player. */
function lasting(known: Map<string, SharedTake>, key: string, take: SharedTake): SharedTake {
  const before = known.get(key);
  if (take.kind !== "text" && before !== undefined && before.kind !== "text") {
    const isSame = before.url?.split("/")[4] === take.url?.split("/")[4];
    if (isSame && before.urlEndsAt > Date.now() + 60_000) return before;
  }
  known.set(key, take);
  return take;
}

render(<Shared />, document.getElementById("app")!);
