import { signal } from '@preact/signals';

/** A message that disappears by itself, except while the pointer or the focus is on it. */
export type Toast = {
  id: number;
  text: string;
  kind: 'done' | 'failed';
  action: { label: string; run(): void } | undefined;
};

export const toasts = signal<readonly Toast[]>([]);
let count = 0;

export function toast(text: string, options: { kind?: Toast['kind']; action?: Toast['action'] } = {}): void {
  const { kind = 'done', action } = options;
  // Nobody reads more than a few at once.
  toasts.value = [...toasts.value, { id: ++count, text, kind, action }].slice(-3);
}

export function dismiss(id: number): void {
  toasts.value = toasts.value.filter((toast) => toast.id !== id);
}
