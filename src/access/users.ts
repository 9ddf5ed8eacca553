import { AppError } from '../errors.ts';
import { access } from '../limits.ts';

export const userNameRule =
  `1 to ${access.userNameLength} characters, without control characters or lone surrogates, ` +
  'and without leading or trailing white space';

const USER_NAME = new RegExp(`^(?!\\s)[^\\p{Cc}\\p{Cs}]{1,${access.userNameLength}}(?<!\\s)$`, 'u');

/** Whether a text satisfies `userNameRule`. Names are compared exactly: no case folding, no normalisation. */
export function isUserName(text: string): boolean {
  return USER_NAME.test(text);
}

/** The reason shown for a webhook that was disabled with its user. Enabling the user enables such webhooks again. */
export const USER_DISABLED = 'Its user is disabled.';

/** The error for a token whose user is disabled or deleted. */
export function disabledUser(): AppError {
  return new AppError(40101, 'The user of the token is disabled or was deleted.');
}
