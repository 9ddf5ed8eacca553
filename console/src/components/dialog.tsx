import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';
import { focusHeading } from '../router.ts';
import { IconButton } from './button.tsx';

type DialogProps = {
  title: string;
  /** The user asked to close the dialog, by Escape, button or `close`; the caller then stops rendering it. */
  onClose(): void;
  /** While locked, Escape and the button do nothing. */
  isLocked?: boolean;
  children: ComponentChildren;
};

/** A modal dialog for as long as it is rendered. It takes the focus and returns it. */
export function Dialog({ title, onClose, isLocked = false, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useLayoutEffect(() => {
    const element = dialog.current;
    const before = document.activeElement;
    element?.showModal();
    return () => {
      element?.close();
      // The element that opened it may have been deleted, or is removed together with the dialog.
      queueMicrotask(() => {
        if (before instanceof HTMLElement && before.isConnected) before.focus();
        else focusHeading();
      });
    };
  }, []);
  // Some browsers close a dialog anyway after repeated attempts.
  function closed(): void {
    const element = dialog.current;
    // It also closes when it is removed.
    if (!element?.isConnected) return;
    if (isLocked) element.showModal();
    else onClose();
  }
  // The second click of a double click on the button that opened it is not meant for a button that lies there now.
  function refuseSecond(event: MouseEvent): void {
    if (event.detail < 2 || !(event.target instanceof Element && event.target.closest('button'))) return;
    event.preventDefault();
    event.stopPropagation();
  }
  return (
    <dialog
      ref={dialog}
      class="dialog"
      aria-labelledby={id}
      closedby={isLocked ? 'none' : 'closerequest'}
      onClickCapture={refuseSecond}
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
