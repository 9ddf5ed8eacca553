import { useSignal } from '@preact/signals';
import type { Ref } from 'preact';
import { useId } from 'preact/hooks';
import { IconButton } from './button.tsx';

type FieldProps = {
  label: string;
  value: string;
  onInput(value: string): void;
  /** What is wrong with the value, as a sentence. */
  error?: string | undefined;
  hint?: string;
  isOptional?: boolean;
  type?: 'text' | 'search' | 'password' | 'url' | 'datetime-local';
  inputMode?: 'numeric' | 'text' | 'url';
  autocomplete?: string;
  placeholder?: string;
  inputRef?: Ref<HTMLInputElement>;
  autofocus?: boolean;
  /** A key of `Shortcuts`. */
  'aria-keyshortcuts'?: string;
};

/** An input with its label, and its error below it, which is read out with it. */
export function Field(props: FieldProps) {
  const { label, value, onInput, error, hint, isOptional, type = 'text', inputRef, ...rest } = props;
  const id = useId();
  const isShown = useSignal(false);
  const described = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(' ');
  return (
    <div class={`field ${error ? 'wrong' : ''}`}>
      <label for={id}>
        {label} {isOptional && <span class="optional">optional</span>}
      </label>
      {hint && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      <div class="input">
        <input
          {...rest}
          id={id}
          ref={inputRef ?? null}
          // The type declarations accept only one input type at a time.
          type={(isShown.value ? 'text' : type) as 'text'}
          value={value}
          spellcheck={false}
          aria-invalid={error !== undefined}
          aria-describedby={described || undefined}
          onInput={(event) => onInput(event.currentTarget.value)}
        />
        {type === 'password' && (
          <IconButton
            icon={isShown.value ? 'hide' : 'show'}
            label={isShown.value ? `Hide ${label.toLowerCase()}` : `Show ${label.toLowerCase()}`}
            onClick={() => (isShown.value = !isShown.value)}
          />
        )}
      </div>
      {error && (
        <p class="error" role="alert" id={`${id}-error`}>
          {error}
        </p>
      )}
    </div>
  );
}

type CheckboxProps = { label: string; hint?: string; isChecked: boolean; onChange(isChecked: boolean): void };

export function Checkbox({ label, hint, isChecked, onChange }: CheckboxProps) {
  const id = useId();
  return (
    <div class="checkbox">
      <input
        id={id}
        type="checkbox"
        checked={isChecked}
        aria-describedby={hint ? `${id}-hint` : undefined}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
      <label for={id}>{label}</label>
      {hint && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </div>
  );
}

type ChoiceProps = {
  label: string;
  value: string;
  options: readonly { value: string; label: string }[];
  onChange(value: string): void;
  autofocus?: boolean;
};

/** A choice of a few options. */
export function Choice({ label, value, options, onChange, autofocus }: ChoiceProps) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select
        id={id}
        value={value}
        autofocus={autofocus}
        onChange={(event) => onChange(event.currentTarget.value)}
      >
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.label}
          </option>
        ))}
      </select>
    </div>
  );
}
