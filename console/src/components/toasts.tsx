import { useEffect, useRef } from 'preact/hooks';
import { focusHeading } from '../router.ts';
import { dismiss, type Toast, toasts } from '../toasts.ts';
import { Button, IconButton } from './button.tsx';
import { Icon } from './icon.tsx';

const SHOWN_MS = 8_000;

/** Messages at the edge of the page, read out as they appear. */
export function Toasts() {
  return (
    // Only the new message is read, not those that still stand there.
    <div class="toasts" role="status" aria-atomic="false">
      {toasts.value.map((toast) => (
        <Message key={toast.id} toast={toast} />
      ))}
    </div>
  );
}

/** Disappears by itself, but not while the pointer or the focus is on it, and a while after both have left. */
function Message({ toast }: { toast: Toast }) {
  const element = useRef<HTMLDivElement>(null);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const wait = () => {
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      if (element.current?.matches(':hover, :focus-within')) wait();
      else dismiss(toast.id);
    }, SHOWN_MS);
  };
  useEffect(() => {
    wait();
    return () => clearTimeout(timer.current);
  }, []);
  const { text, kind, action } = toast;
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it has no action; it only stays while the pointer is on it.
    <div ref={element} class={`toast ${kind}`} onMouseLeave={wait} onFocusOut={wait}>
      <Icon name={kind === 'done' ? 'check' : 'alert'} />
      <span>{text}</span>
      {action && (
        <Button
          look="quiet"
          onClick={() => {
            dismiss(toast.id);
            action.run();
          }}
        >
          {action.label}
        </Button>
      )}
      <IconButton
        icon="close"
        label="Dismiss"
        onClick={() => {
          dismiss(toast.id);
          focusHeading();
        }}
      />
    </div>
  );
}
