import type { ComponentChildren } from 'preact';
import { Icon, type IconName } from './icon.tsx';

type BadgeProps = {
  kind: 'good' | 'warn' | 'bad' | 'info' | 'plain';
  icon?: IconName;
  children: ComponentChildren;
};

/** A state in a word, with a color and, where it matters, a picture; never by color alone. */
export function Badge({ kind, icon, children }: BadgeProps) {
  return (
    <span class={`badge ${kind}`}>
      {icon && <Icon name={icon} />}
      {children}
    </span>
  );
}
