import { type ReadonlySignal, useSignal } from '@preact/signals';
import type { RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { randomKey } from '../../packages/client/src/requests.ts';
import { isKept, sentenceOf } from './failure.ts';
import { place } from './router.ts';
import { reporter, session } from './session.ts';

/** What is wrong with each field, in a sentence. */
export type FieldErrors<Text> = { [Field in keyof Text]?: string | undefined };

type FormRules<Text> = {
  /** The problems that can be found before sending. */
  check(text: Text): FieldErrors<Text>;
  /**
   * Resolves when it is saved. The key stays the same while the text does, so that a retry creates nothing twice, unless
   * the service refused: the reason may be gone by the next try.
   */
  save(text: Text, key: string): Promise<void>;
  /** The field that a refusal of the service concerns, if any. */
  fieldOf(error: unknown): keyof Text | undefined;
};

type TextProps = {
  value: string;
  onInput(value: string): void;
  error: string | undefined;
  autocomplete: 'off';
};

export type Form<Text> = {
  text: ReadonlySignal<Text>;
  errors: ReadonlySignal<FieldErrors<Text>>;
  /** A failure that concerns no field. */
  failure: ReadonlySignal<unknown>;
  isBusy: ReadonlySignal<boolean>;
  element: RefObject<HTMLFormElement | null>;
  change(field: keyof Text): (value: string) => void;
  /** What a `Field` needs to show this text, change it, and say what is wrong with it. */
  field(field: keyof Text): TextProps;
  submit(event: SubmitEvent): Promise<void>;
};

/** The text in a form, and the key to send it with. */
type Typed<Text> = { form: string; text: Text; key: string };

/** What was in a form that the end of its session closed. */
let left: Typed<unknown> | undefined;

/** A form of text fields. Shows problems at their field, and focuses the first such field. */
export function useForm<Text extends Record<keyof Text, string>>(
  before: Text,
  { check, save, fieldOf }: FormRules<Text>,
): Form<Text> {
  const [opened] = useState(() => open(before));
  const text = useSignal(opened.text);
  const errors = useSignal<FieldErrors<Text>>({});
  const failure = useSignal<unknown>(undefined);
  const isBusy = useSignal(false);
  const element = useRef<HTMLFormElement>(null);
  const key = useRef(opened.key);
  useEffect(
    () => () => {
      if (session.peek() === undefined) left = { ...opened, text: text.peek(), key: key.current };
    },
    [],
  );

  function show(found: FieldErrors<Text>): void {
    errors.value = found;
    const wrong = '[aria-invalid="true"], fieldset:has(.error) input';
    queueMicrotask(() => element.current?.querySelector<HTMLElement>(wrong)?.focus());
  }

  function showFailure(error: unknown): void {
    if (isKept(error)) key.current = randomKey();
    const field = fieldOf(error);
    if (field === undefined) failure.value = error;
    else show({ ...errors.peek(), [field]: sentenceOf(error) });
  }

  const change: Form<Text>['change'] = (field) => (value) => {
    text.value = { ...text.value, [field]: value };
    errors.value = { ...errors.value, [field]: undefined };
    key.current = randomKey();
  };

  return {
    text,
    errors,
    failure,
    isBusy,
    element,
    change,
    field: (field) => ({
      value: text.value[field],
      onInput: change(field),
      error: errors.value[field],
      autocomplete: 'off',
    }),
    async submit(event) {
      event.preventDefault();
      if (isBusy.value) return;
      failure.value = undefined;
      const found = check(text.value);
      if (Object.keys(found).length > 0) return show(found);
      const report = reporter();
      isBusy.value = true;
      try {
        await save(text.value, key.current);
      } catch (error) {
        showFailure(error);
        // Back closes the form, too.
        if (element.current === null) report(error);
      } finally {
        isBusy.value = false;
      }
    },
  };
}

/** A user whose session ended finds what they typed, and the key with it: it may have been saved all the same. */
function open<Text>(before: Text): Typed<Text> {
  const { user, scopes = [] } = session.peek() ?? {};
  const form = JSON.stringify([user, ...scopes, place.peek().path, before]);
  if (left?.form !== form) return { form, text: before, key: randomKey() };
  // The same form, so its text has the same fields.
  const found = left as Typed<Text>;
  left = undefined;
  return found;
}
