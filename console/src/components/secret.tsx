import type { ComponentChildren } from 'preact';
import { CopyButton } from './copy-button.tsx';

type SecretProps = { name: string; value: string; children?: ComponentChildren };

/** A long text for the user to copy. */
export function Secret({ name, value, children }: SecretProps) {
  return (
    <div class="secret">
      <p class="secret-name">{name}</p>
      <div class="secret-value">
        <code>{value}</code>
        <CopyButton text={value} what={name.toLowerCase()} />
      </div>
      {children && <p class="hint">{children}</p>}
    </div>
  );
}
