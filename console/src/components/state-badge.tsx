import type { Shown } from '../webhook-state.ts';
import { Badge } from './badge.tsx';

export function StateBadge({ shown: { text, kind, icon } }: { shown: Shown }) {
  return (
    <Badge kind={kind} icon={icon}>
      {text}
    </Badge>
  );
}
