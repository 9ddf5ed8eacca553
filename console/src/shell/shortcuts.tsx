import { signal, useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { IconButton } from '../components/button.tsx';
import { Dialog } from '../components/dialog.tsx';
import { Checkbox } from '../components/field.tsx';
import { kept } from '../kept.ts';

/** The first two are for the field or button of the page with that `aria-keyshortcuts`. */
const SHORTCUTS = new Map([
  ['/', 'Search on this page'],
  ['n', 'Add a plant, or create a webhook or token'],
  ['?', 'Show this list'],
]);

/** Whether the page has such a field or button. */
function isHere([key]: [key: string, does: string]): boolean {
  return key === '?' || elementFor(key) !== null;
}

function elementFor(key: string): HTMLElement | null {
  return document.querySelector<HTMLElement>(`[aria-keyshortcuts="${key}"]`);
}

/** Kept until the tab closes: who speaks to the browser can turn single keys off (WCAG 2.2, 2.1.4). */
const OFF = 'plant-store.shortcuts-off';

const isShown = signal(false);

export function ShortcutsButton() {
  return <IconButton icon="keyboard" label="Shortcuts" onClick={() => (isShown.value = true)} />;
}

/** Follows the shortcuts, except while somebody types or a dialog is open, and lists them. */
export function Shortcuts() {
  const isOn = useSignal(kept.getItem(OFF) === null);
  useEffect(() => {
    addEventListener('keydown', press);
    return () => {
      removeEventListener('keydown', press);
      // The next user has not asked for the list.
      isShown.value = false;
    };
  }, []);

  function press(event: KeyboardEvent): void {
    const { key, target } = event;
    const isTyping = target instanceof Element && target.matches('input, select, textarea');
    const isOther = event.ctrlKey || event.metaKey || event.altKey || !SHORTCUTS.has(key);
    if (isOther || isTyping || !isOn.peek() || document.querySelector('dialog[open]')) return;
    if (key === '?') isShown.value = true;
    const element = elementFor(key);
    if (element instanceof HTMLInputElement) element.focus();
    else element?.click();
    // The browser would type the key into the field, or search the page.
    event.preventDefault();
  }

  function turn(on: boolean): void {
    isOn.value = on;
    if (on) kept.removeItem(OFF);
    else kept.setItem(OFF, 'yes');
  }

  if (!isShown.value) return null;
  return (
    <Dialog title="Keyboard shortcuts" onClose={() => (isShown.value = false)}>
      <div class="dialog-body">
        <dl class="facts">
          {[...SHORTCUTS].filter(isHere).map(([key, does]) => [
            <dt key={key}>
              <kbd>{key}</kbd>
            </dt>,
            <dd key={does}>{does}</dd>,
          ])}
        </dl>
        <Checkbox label="Use these keys" isChecked={isOn.value} onChange={turn} />
      </div>
    </Dialog>
  );
}
