import assert from 'node:assert/strict';
import { type ErrorCode, statusOf } from '../../src/errors.ts';

/** A complete HTTP answer. */
export type Answer = { status: number; headers: Headers; text: string };

/** Asserts success with this status; returns the body. */
export function succeeded(answer: Answer, status: number): unknown {
  assert.equal(answer.status, status, answer.text);
  if (status === 204) {
    assert.equal(answer.text, '');
    return undefined;
  }
  assert.match(answer.headers.get('content-type') ?? '', /^application\/json$/);
  return JSON.parse(answer.text);
}

/**
 * Asserts that an answer is the failure with this code: its status, and the Error object as JSON. Returns the message,
 * which must never leak internals.
 */
export function failed(answer: Answer, code: ErrorCode, message: RegExp = /./): string {
  assert.equal(answer.status, statusOf(code), answer.text);
  assert.match(answer.headers.get('content-type') ?? '', /^application\/json$/);
  const body: unknown = JSON.parse(answer.text);
  assert.ok(typeof body === 'object' && body !== null);
  assert.deepEqual(Object.keys(body), ['error', 'message']);
  const { error, message: text }: { error?: unknown; message?: unknown } = body;
  assert.equal(error, code, answer.text);
  assert.ok(typeof text === 'string');
  assert.match(text, message);
  assert.doesNotMatch(text, /\bat .*\.[jt]s\b|node:|SQLITE|SELECT|INSERT|FST_|HPE_|pst_/);
  return text;
}
