import { useState } from "preact/hooks";
import type { ClientReport, PageMedia, PageStep } from "../../views/document.ts";
import { inlined } from "../state/api.ts";
import type { RunModel } from "../state/run-store.ts";
import { Button, Empty, StepLink } from "../ui/bits.tsx";
import { count, dateTime } from "../ui/format.ts";
import { useSteps } from "../ui/hooks.ts";
import { Player, useLightbox } from "../ui/media.tsx";

const PAGE = 24;
const order = ["video", "image", "audio", "other"];

function filmsFirst(a: PageMedia, b: PageMedia): number {
  return order.indexOf(a.kind) - order.indexOf(b.kind);
}

export function ResultsTab({ model, onOpen }: { readonly model: RunModel; readonly onOpen: (step: string) => void }) {
  const isReturned = ({ media }: PageStep) => media.some(({ name }) => name !== null);
  const returned = useSteps(model, { with: "returned" }, isReturned);
  const intermediate = useSteps(model, { with: "intermediate" }, (step) => !isReturned(step));
  const media = mediaOf([...returned.steps, ...intermediate.steps]);
  const results = media.filter(({ name }) => name !== null).sort(filmsFirst);
  const others = media.filter(({ name }) => name === null);
  if (results.length + others.length === 0) {
    return (
      <Empty title="No results yet">
        <p>Images, videos and audio appear here as soon as they are downloaded.</p>
      </Empty>
    );
  }
  return (
    <div class="results">
      {inlined === null && (
        <p>
          <a class="button" href={`/download/${encodeURIComponent(model.head.id)}`} download>
            Download all
          </a>
        </p>
      )}
      <Gallery title="Returned" results={results} more={returned.more} onOpen={onOpen} />
      <Gallery
        title={results.length > 0 ? "Intermediate outputs" : "Results so far"}
        results={others}
        more={intermediate.more}
        onOpen={onOpen}
      />
    </div>
  );
}

function mediaOf(steps: readonly PageStep[]): readonly PageMedia[] {
  return steps.flatMap(({ icon, media }) =>
    icon === "file" ? [] : media.filter(({ url, name }) => url !== null || name !== null),
  );
}

interface GalleryProps {
  readonly title: string;
  readonly results: readonly PageMedia[];
  readonly more: (() => void) | null;
  readonly onOpen?: ((step: string) => void) | undefined;
}

function Gallery({ title, results, more, onOpen }: GalleryProps) {
  const [limit, setLimit] = useState(PAGE);
  const [enlarge, lightbox] = useLightbox(results, ({ name, step }) => name ?? step);
  if (results.length === 0) return null;
  return (
    <section aria-label={title}>
      <h2>
        {title}{" "}
        <span class="quiet">
          {results.length}
          {more !== null && " and more"}
        </span>
      </h2>
      <ul class="gallery">
        {results.slice(0, limit).map((media, index) => (
          <li key={`${media.step} ${media.index}`}>
            <Player media={media} label={media.name ?? media.step} onEnlarge={() => enlarge(index)} />
            {onOpen === undefined ? (
              (media.name ?? media.step)
            ) : (
              <StepLink step={media.step} text={media.name ?? media.step} onOpen={onOpen} />
            )}
          </li>
        ))}
      </ul>
      {(results.length > limit || more !== null) && (
        <Button
          label={more === null ? `Show more of ${count(results.length, "result")}` : "Show more"}
          look="more"
          onClick={() => {
            setLimit(limit + PAGE);
            if (results.length <= limit + PAGE) more?.();
          }}
        />
      )}
      {lightbox}
    </section>
  );
}

export function ClientReportPage({ report }: { readonly report: ClientReport }) {
  const { title, writtenAt, isComplete, price, media } = report;
  return (
    <main id="main" class="page">
      <h1>{title}</h1>
      <p class="quiet">
        {dateTime(writtenAt)}
        {!isComplete && " · incomplete"}
        {price !== null && ` · ${price} US dollars`}
      </p>
      {media.length === 0 && <Empty title="No results yet" />}
      <Gallery title="Results" results={media.toSorted(filmsFirst)} more={null} />
    </main>
  );
}
