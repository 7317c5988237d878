import { useMemo, useState } from "preact/hooks";
import type { MediaView, RunHead, StepView } from "../../views/wire.ts";
import type { RunModel } from "../state/run-store.ts";
import { Empty } from "../ui/bits.tsx";
import { count } from "../ui/format.ts";
import { Player } from "../ui/media.tsx";

interface Result {
  readonly key: string;
  readonly name: string;
  readonly media: MediaView;
}

const PAGE = 24;

/** What came out: what the pipeline returns first, then what was made on the way there. */
export function ResultsTab({ model, onOpen }: { readonly model: RunModel; readonly onOpen: (step: string) => void }) {
  const { returned, others } = useMemo(() => resultsOf(model.head, [...model.steps.values()]), [model]);
  if (returned.length + others.length === 0) {
    return (
      <Empty title="No results yet">
        <p>Pictures, films and sound appear here as soon as they are downloaded.</p>
      </Empty>
    );
  }
  return (
    <div class="results">
      <Gallery title="Returned" results={returned} onOpen={onOpen} />
      <Gallery title={returned.length > 0 ? "Intermediate outputs" : "So far"} results={others} onOpen={onOpen} />
    </div>
  );
}

interface GalleryProps {
  readonly title: string;
  readonly results: readonly Result[];
  readonly onOpen: (step: string) => void;
}

function Gallery({ title, results, onOpen }: GalleryProps) {
  const [limit, setLimit] = useState(PAGE);
  if (results.length === 0) return null;
  return (
    <section aria-label={title}>
      <h2>
        {title} <span class="quiet">{results.length}</span>
      </h2>
      <ul class="gallery">
        {results.slice(0, limit).map(({ key, name, media }) => (
          <li key={key}>
            <Player media={media} label={name} />
            <button type="button" class="link" onClick={() => onOpen(media.step)}>
              {name}
            </button>
          </li>
        ))}
      </ul>
      {results.length > limit && (
        <button type="button" class="button more" onClick={() => setLimit(limit + PAGE)}>
          Show more of {count(results.length, "result")}
        </button>
      )}
    </section>
  );
}

function resultsOf(head: RunHead, steps: readonly StepView[]) {
  const names = new Map(head.files.map(({ name, step, index }) => [`${step} ${index}`, name]));
  const results = steps
    .filter(({ icon }) => icon !== "file")
    .flatMap(({ path, media }) =>
      media.map(
        (one): Result => ({ key: `${path} ${one.index}`, name: names.get(`${path} ${one.index}`) ?? path, media: one }),
      ),
    )
    .filter(({ media }) => media.url !== null);
  return {
    returned: results.filter(({ key }) => names.has(key)),
    others: results.filter(({ key }) => !names.has(key)),
  };
}
