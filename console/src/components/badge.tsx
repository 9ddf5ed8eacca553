import type { ComponentChildren } from 'preact';
import { Icon, type IconName } from './icon.tsx';

type BadgeProps = {
  kind: 'good' | 'warn' | 'bad' | 'info' | 'plain';
  icon?: IconName;
  children: ComponentChildren;
};

/** A state as a word with a colour and, where it matters, an icon; never by colour alone. */
export function Badge({ kind, icon, children }: BadgeProps) {
  return (
    <span class={`badge ${kind}`}>
      {icon && <Icon name={icon} />}
      {children}
    </span>
  );
}
