import type { ComponentChildren } from 'preact';
import { Icon } from './icon.tsx';

type NoticeProps = {
  kind: 'info' | 'warn' | 'bad' | 'good';
  children: ComponentChildren;
  actions?: ComponentChildren;
};

const ICONS = { info: 'bell', warn: 'alert', bad: 'alert', good: 'check' } as const;

/** An important sentence within a page. A bad one is read out at once. */
export function Notice({ kind, children, actions }: NoticeProps) {
  return (
    <div class={`notice ${kind}`} role={kind === 'bad' ? 'alert' : undefined}>
      <Icon name={ICONS[kind]} />
      <div class="notice-text">{children}</div>
      {actions && <div class="notice-actions">{actions}</div>}
    </div>
  );
}
