import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { focusHeading } from '../router.ts';
import { reporter } from '../session.ts';
import { toast } from '../toasts.ts';
import { Icon, type IconName } from './icon.tsx';

type ButtonProps = {
  children: ComponentChildren;
  onClick?: (event: MouseEvent) => void;
  /** `primary`: the main action of a page or dialog. `danger`: cannot be undone. `quiet`: a secondary action. */
  look?: 'primary' | 'danger' | 'quiet';
  icon?: IconName;
  type?: 'button' | 'submit';
  /** Busy: cannot be pressed again until done, but keeps the focus. */
  isBusy?: boolean;
  /** Why it cannot be pressed now, as a sentence; read out, shown on hover, and a message after a click. */
  refusal?: string | undefined;
  /** The screen reader text that replaces the children when there is no room for words. */
  label?: string;
  /** A key of `Shortcuts`. */
  'aria-keyshortcuts'?: string;
  autofocus?: boolean;
};

/** A button that stays reachable by keyboard while disabled, and says why. */
export function Button(props: ButtonProps) {
  const { children, onClick, look, icon, type = 'button', isBusy, refusal, label, ...rest } = props;
  const isRefused = isBusy === true || refusal !== undefined;
  return (
    <button
      {...rest}
      type={type}
      class={`button ${look ?? ''}`}
      aria-label={label}
      aria-disabled={isRefused || undefined}
      aria-busy={isBusy}
      title={refusal}
      onClick={(event) => {
        if (!isRefused) return onClick?.(event);
        event.preventDefault();
        explain(refusal, event);
      }}
      // Enter that is held down is not meant for what the button does next, such as the opposite.
      onKeyDown={(event) => event.repeat && event.key === 'Enter' && event.preventDefault()}
    >
      {icon && <Icon name={icon} />}
      <span>{children}</span>
    </button>
  );
}

type Press = { detail: number; currentTarget: Element };

/** Nothing hovers on a phone. A message below a dialog could not be read, and a second click was meant for the first. */
function explain(refusal: string | undefined, { detail, currentTarget }: Press): void {
  if (refusal === undefined || detail > 1 || currentTarget.closest('dialog')) return;
  toast(refusal, { kind: 'failed' });
}

type AddButtonProps = { label: string; refusal: string | undefined; onClick(): void };

/** The main action of a page that lists things; its key is `n`. */
export function AddButton({ label, refusal, onClick }: AddButtonProps) {
  return (
    <Button look="primary" icon="add" aria-keyshortcuts="n" refusal={refusal} onClick={onClick}>
      {label}
    </Button>
  );
}

type WorkButtonProps = Omit<ButtonProps, 'onClick' | 'isBusy'> & { work(): Promise<void> };

/** A button that is busy while its work lasts, and reports a failure of it at the edge of the page. */
export function WorkButton({ work, ...props }: WorkButtonProps) {
  const isBusy = useSignal(false);
  async function run(button: EventTarget | null): Promise<void> {
    const report = reporter();
    isBusy.value = true;
    try {
      await work();
    } catch (error) {
      report(error);
    } finally {
      isBusy.value = false;
    }
    // Its work may have removed it, and the focus with it.
    const isGone = button instanceof Node && !button.isConnected;
    if (isGone && document.activeElement === document.body) focusHeading();
  }
  // The second click of a double click is not meant for what the button does after its work, such as the opposite.
  const press = ({ detail, currentTarget }: MouseEvent) => detail < 2 && void run(currentTarget);
  return <Button {...props} isBusy={isBusy.value} onClick={press} />;
}

type IconButtonProps = Pick<ButtonProps, 'onClick' | 'refusal'> & { icon: IconName; label: string };

/** A button with an icon only; its label is read out and shown on hover. */
export function IconButton({ icon, label, onClick, refusal }: IconButtonProps) {
  return (
    <button
      type="button"
      class="icon-button"
      aria-label={label}
      aria-disabled={refusal !== undefined || undefined}
      title={refusal ?? label}
      onClick={(event) => (refusal === undefined ? onClick?.(event) : explain(refusal, event))}
    >
      <Icon name={icon} />
    </button>
  );
}

/** A link with an icon only. */
export function IconLink({ icon, label, href }: { icon: IconName; label: string; href: string }) {
  return (
    <a class="icon-button" href={href} aria-label={label} title={label}>
      <Icon name={icon} />
    </a>
  );
}

/** A link that looks like a button: it navigates and changes nothing. */
export function ButtonLink({
  href,
  look,
  icon,
  children,
}: Pick<ButtonProps, 'look' | 'icon' | 'children'> & { href: string }) {
  return (
    <a class={`button ${look ?? ''}`} href={href}>
      {icon && <Icon name={icon} />}
      <span>{children}</span>
    </a>
  );
}
