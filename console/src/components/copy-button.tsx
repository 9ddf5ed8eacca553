import { useSignal } from '@preact/signals';
import { Icon } from './icon.tsx';

const SHOWN_MS = 4_000;

type CopyButtonProps = {
  text: string;
  /** Names it: "Copy the secret". */
  what: string;
  /** Shows the name beside the icon, too. */
  isNamed?: boolean;
};

/** Copies a text, and says beside the button whether it could: a message at the edge would be below a dialog. */
export function CopyButton({ text, what, isNamed = false }: CopyButtonProps) {
  const outcome = useSignal<'' | 'Copied' | 'Select it and copy it yourself'>('');
  async function copy(): Promise<void> {
    try {
      await navigator.clipboard.writeText(text);
      outcome.value = 'Copied';
    } catch {
      // Without https, except on localhost, browsers deny pages the clipboard.
      outcome.value = 'Select it and copy it yourself';
    }
    setTimeout(() => (outcome.value = ''), SHOWN_MS);
  }
  return (
    <span class="copy">
      <button
        type="button"
        class={isNamed ? 'button' : 'icon-button'}
        aria-label={`Copy ${what}`}
        title={`Copy ${what}`}
        onClick={copy}
      >
        <Icon name={outcome.value === 'Copied' ? 'check' : 'copy'} />
        {isNamed && <span>Copy {what}</span>}
      </button>
      <span role="status" class="copied">
        {outcome.value}
      </span>
    </span>
  );
}
