import { type Signal, useSignalEffect } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { recoveries } from '../connection.ts';
import { isUnreachable, sentenceOf } from '../failure.ts';
import { Icon } from './icon.tsx';

type NoticeProps = {
  kind: 'info' | 'warn' | 'bad' | 'good';
  children: ComponentChildren;
  actions?: ComponentChildren;
  /** Stands on the page: not read out whenever its numbers change. */
  isStanding?: boolean;
};

const ICONS = { info: 'bell', warn: 'alert', bad: 'alert', good: 'check' } as const;

/** An important sentence within a page. A bad one is read out at once. */
export function Notice({ kind, children, actions, isStanding = false }: NoticeProps) {
  return (
    <div class={`notice ${kind}`} role={kind === 'bad' && !isStanding ? 'alert' : undefined}>
      <Icon name={ICONS[kind]} />
      <div class="notice-text">{children}</div>
      {actions && <div class="notice-actions">{actions}</div>}
    </div>
  );
}

/** Why the last attempt in a dialog failed. An unreachable service is no longer reported once it answers. */
export function FailureNotice({ failure }: { failure: Signal<unknown> }) {
  useSignalEffect(() => {
    if (recoveries.value > 0 && isUnreachable(failure.peek())) failure.value = undefined;
  });
  return failure.value === undefined ? null : <Notice kind="bad">{sentenceOf(failure.value)}</Notice>;
}
