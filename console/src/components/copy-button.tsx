import { useSignal } from '@preact/signals';
import { toast } from '../toasts.ts';
import { Icon } from './icon.tsx';

/** Copies a text. `what` names it: "Copy the secret". */
export function CopyButton({ text, what }: { text: string; what: string }) {
  const isCopied = useSignal(false);
  async function copy(): Promise<void> {
    try {
      await navigator.clipboard.writeText(text);
      isCopied.value = true;
      setTimeout(() => (isCopied.value = false), 2_000);
    } catch {
      // Without https, except on localhost, browsers deny pages the clipboard.
      toast('The browser did not allow copying. Select the text and copy it yourself.', {
        kind: 'failed',
      });
    }
  }
  return (
    <button
      type="button"
      class="icon-button copy"
      aria-label={`Copy ${what}`}
      title={`Copy ${what}`}
      onClick={copy}
    >
      <Icon name={isCopied.value ? 'check' : 'copy'} />
      <span role="status" class="copied">
        {isCopied.value ? 'Copied' : ''}
      </span>
    </button>
  );
}
