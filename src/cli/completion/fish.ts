import { type KnownVerb, PROFILES, type Values, type VerbOption } from './verbs.ts';

/** For `~/.config/fish/completions/plant-store.fish`. */
export function fishCompletion(verbs: readonly KnownVerb[]): string {
  const paths = verbs.map(({ path }) => path).filter((path) => path !== '');
  return `# fish completion of plant-store, made by: plant-store completion fish
function __plant_store_at
    set -l verb ''
    for word in (commandline -opc)[2..-1]
        set -l longer (string trim -- "$verb $word")
        contains -- "$longer" ${paths.map(quoted).join(' ')}; and set verb $longer
    end
    test "$verb" = "$argv[1]"
end
complete -c plant-store -f
${verbs.flatMap(linesOf).join('\n')}`;
}

function linesOf({ path, below, options, values }: KnownVerb): string[] {
  const at = `complete -c plant-store -n ${quoted(`__plant_store_at ${quoted(path)}`)}`;
  return [
    ...below.map(({ name, description }) => `${at} -a ${quoted(name)} -d ${quoted(description)}`),
    ...options.map((option) => `${at} ${flagsOf(option)} -d ${quoted(option.description)}`),
    ...(values === 'anything' ? [] : [`${at} ${offer(values)}`]),
  ];
}

function flagsOf({ flags, values }: VerbOption): string {
  const names = flags.map((flag) => (flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`));
  if (values !== undefined) names.push(values === 'file' ? '-r -F' : `-x ${offer(values)}`.trim());
  return names.join(' ');
}

function offer(values: Values): string {
  if (values === 'anything') return '';
  if (values === 'file') return '-F';
  if (values === 'profile') return `-a ${quoted(`(${PROFILES})`)}`;
  return `-a ${quoted(values.choices.join(' '))}`;
}

/** In quotes of fish a backslash is one unless a quote or another follows it. */
function quoted(text: string): string {
  return `'${text.replaceAll(/[\\']/g, '\\$&')}'`;
}
