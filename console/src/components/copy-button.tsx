import { useSignal } from '@preact/signals';
import { toast } from '../toasts.ts';
import { Icon } from './icon.tsx';

type CopyButtonProps = {
  text: string;
  /** Names it: "Copy the secret". */
  what: string;
  /** Shows the name beside the icon, too. */
  isNamed?: boolean;
};

/** Copies a text. */
export function CopyButton({ text, what, isNamed = false }: CopyButtonProps) {
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
      class={isNamed ? 'button copy' : 'icon-button copy'}
      aria-label={`Copy ${what}`}
      title={`Copy ${what}`}
      onClick={copy}
    >
      <Icon name={isCopied.value ? 'check' : 'copy'} />
      {isNamed && <span>Copy {what}</span>}
      <span role="status" class="copied">
        {isCopied.value ? 'Copied' : ''}
      </span>
    </button>
  );
}
