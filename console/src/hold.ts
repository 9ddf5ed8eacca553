let holds = 0;

/** Whether somebody has to stay on this page for now. */
export function isHeld(): boolean {
  return holds > 0;
}

/**
 * Keeps a person on this page until the function that it gives is called, since something that comes once would be lost
 * with it: the browser's Back leads nowhere, and before a reload the browser asks.
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
