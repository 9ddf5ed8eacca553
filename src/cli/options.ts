import { type Command, Option } from 'commander';
import { type SettingName, settings } from '../config-settings.ts';

/** The flag of a setting, described as the table of settings describes it. */
export function settingOption(name: SettingName): Option {
  const { flag, description, env, defaultText } = settings[name];
  if (flag === undefined) throw new Error(`${env} has no flag`);
  const otherwise = defaultText === undefined ? '' : `, default: ${defaultText}`;
  return new Option(flag, `${description} (${env}${otherwise})`);
}

/** Adds the flag of every setting that has one, as `serve` has them. */
export function addSettingOptions(command: Command): Command {
  for (const [name, { flag }] of Object.entries(settings)) {
    // `settings` has exactly these keys.
    if (flag !== undefined) command.addOption(settingOption(name as SettingName));
  }
  return command;
}
