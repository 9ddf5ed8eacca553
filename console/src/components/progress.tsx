import { useId } from 'preact/hooks';

type ProgressProps = { label: string; value: number; max: number };

/** A labelled progress bar. */
export function Progress({ label, value, max }: ProgressProps) {
  const id = useId();
  return (
    <div class="progress">
      <label for={id}>{label}</label>
      <progress id={id} value={value} max={Math.max(max, 1)} />
    </div>
  );
}
