import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';
import { IconButton } from './button.tsx';

type DialogProps = {
  title: string;
  /** Escape, the button to close it, or `close` was asked for; whoever shows the dialog stops showing it. */
  onClose(): void;
  /** Why it must not be closed now: Escape and the button do nothing. */
  isLocked?: boolean;
  children: ComponentChildren;
};

/** A modal dialog for as long as it is rendered. The focus goes into it, and back to where it was. */
export function Dialog({ title, onClose, isLocked = false, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useLayoutEffect(() => {
    const element = dialog.current;
    const before = document.activeElement;
    element?.showModal();
    return () => {
      element?.close();
      // What led here may be gone with what was deleted.
      const back = before?.isConnected ? before : document.querySelector('h1');
      if (back instanceof HTMLElement) back.focus();
    };
  }, []);
  // Who asks often enough has some browsers close it in spite of everything.
  function closed(): void {
    const element = dialog.current;
    // It is also closed on its way out.
    if (!element?.isConnected) return;
    if (isLocked) element.showModal();
    else onClose();
  }
  return (
    <dialog
      ref={dialog}
      class="dialog"
      aria-labelledby={id}
      closedby={isLocked ? 'none' : 'closerequest'}
      onClose={closed}
      onCancel={(event) => {
        event.preventDefault();
        if (!isLocked) onClose();
      }}
    >
      <header>
        <h2 id={id} class="clamped">
          {title}
        </h2>
        {!isLocked && <IconButton icon="close" label="Close" onClick={onClose} />}
      </header>
      {children}
    </dialog>
  );
}
