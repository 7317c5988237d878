import type { ClientReport } from "../../views/document.ts";
import { Empty } from "../ui/bits.tsx";
import { dateTime } from "../ui/format.ts";
import { filmsFirst, Gallery } from "./results.tsx";

export function ClientReportPage({ report }: { readonly report: ClientReport }) {
  const { title, writtenAt, isComplete, price, media } = report;
  return (
    <main id="main" class="page">
      <h1>{title}</h1>
      <p class="quiet">
        {dateTime(writtenAt)}
        {!isComplete && " · not complete yet"}
        {price !== null && ` · ${price} US dollars`}
      </p>
      {media.length === 0 && <Empty title="Nothing is finished yet" />}
      <Gallery title="Results" results={media.toSorted(filmsFirst)} more={null} />
    </main>
  );
}
