import { Option } from 'commander';
import { type SettingName, settings } from '../config.ts';

/** The flag of a setting, described as the table of settings describes it. */
export function settingOption(name: SettingName): Option {
  const { flag, description, env, defaultText } = settings[name];
  if (flag === undefined) throw new Error(`${env} has no flag`);
  const otherwise = defaultText === undefined ? '' : `, default: ${defaultText}`;
  return new Option(flag, `${description} (${env}${otherwise})`);
}
