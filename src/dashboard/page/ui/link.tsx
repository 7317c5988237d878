import type { AnchorHTMLAttributes, ComponentChildren } from "preact";
import { go } from "../state/router.ts";

type Props = AnchorHTMLAttributes<HTMLAnchorElement> & { readonly href: string; readonly children: ComponentChildren };

/** A link within the page: opens without loading anything, unless the browser is asked for a new tab. */
export function Link({ href, children, ...rest }: Props) {
  const open = (event: MouseEvent) => {
    if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    go(href);
  };
  return (
    <a {...rest} href={href} onClick={open}>
      {children}
    </a>
  );
}
