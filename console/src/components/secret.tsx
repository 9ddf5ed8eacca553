import type { ComponentChildren } from 'preact';
import { CopyButton } from './copy-button.tsx';

type SecretProps = { name: string; value: string; children?: ComponentChildren };

/** A long text that somebody is to take with them. */
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
