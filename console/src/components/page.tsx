import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { takesFocus } from '../router.ts';

type PageProps = {
  title: string;
  /** One sentence below the title. */
  lead?: ComponentChildren;
  /** Buttons next to the title: the most frequent actions of this page. */
  actions?: ComponentChildren;
  /** The parent page, linked above the title. */
  back?: { href: string; label: string };
  children: ComponentChildren;
};

/** The frame of every page. Its heading takes the focus, so that a screen reader announces the page. */
export function Page({ title, lead, actions, back, children }: PageProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · Plant Store`;
  }, [title]);
  useEffect(() => {
    if (!takesFocus()) return;
    scrollTo(0, 0);
    heading.current?.focus({ preventScroll: true });
  }, []);
  return (
    <>
      <header class="page-head">
        <div>
          {back && (
            <a class="back" href={back.href}>
              ← {back.label}
            </a>
          )}
          <h1 ref={heading} tabIndex={-1}>
            {title}
          </h1>
          {lead && <p class="lead">{lead}</p>}
        </div>
        {actions && <div class="actions">{actions}</div>}
      </header>
      {children}
    </>
  );
}
