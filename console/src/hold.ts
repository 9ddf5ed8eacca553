let holds = 0;

/** Whether somebody has to stay on this page for now. */
export function isHeld(): boolean {
  return holds > 0;
}

/**
 * Keeps the user on this page until the returned function is called, because something shown only once would be lost:
 * Back does nothing, and the browser asks before a reload.
 */
export function hold(): () => void {
  if (holds === 0) addEventListener('beforeunload', ask);
  holds += 1;
  let isOver = false;
  return () => {
    if (isOver) return;
    isOver = true;
    holds -= 1;
    if (holds === 0) removeEventListener('beforeunload', ask);
  };
}

function ask(event: BeforeUnloadEvent): void {
  event.preventDefault();
}
