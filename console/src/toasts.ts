import { signal } from '@preact/signals';

/** A message that goes by itself, except while it is looked at. */
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
  // More than a few at once are read by nobody.
  toasts.value = [...toasts.value, { id: ++count, text, kind, action }].slice(-3);
}

export function dismiss(id: number): void {
  toasts.value = toasts.value.filter((toast) => toast.id !== id);
}
