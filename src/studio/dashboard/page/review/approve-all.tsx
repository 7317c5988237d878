import type { WaitingView } from "../../views/review-wire.ts";
import { post, runPath } from "../state/api.ts";
import { count } from "../ui/format.ts";
import { Dialog } from "../ui/panel.tsx";

const MOST_LISTED = 50;

interface Props {
  /** Those where nothing is to be picked. */
  readonly items: readonly WaitingView[];
  readonly onClose: () => void;
}

export function ApproveAll({ items, onClose }: Props) {
  const approve = async () => {
    for (const [position, { run, step }] of items.entries()) {
      // A run that no process drives is resumed with the last of its decisions.
      const goOn = !items.slice(position + 1).some((other) => other.run === run);
      await post(`${runPath(run)}/approve`, { step, note: "", goOn });
    }
  };
  return (
    <Dialog title={`Approve ${count(items.length, "step")}?`} action="Approve all" onAction={approve} onClose={onClose}>
      <ul class="plain">
        {items.slice(0, MOST_LISTED).map(({ run, title, step }) => (
          <li key={`${run} ${step}`}>
            {title ?? run}: {step}
          </li>
        ))}
        {items.length > MOST_LISTED && <li>and {items.length - MOST_LISTED} more</li>}
      </ul>
      <p class="quiet">Steps where one of several takes is picked stay open.</p>
    </Dialog>
  );
}
