import { type KnownVerb, PROFILES, placesOf, type Values } from './verbs.ts';

/** For bash 3.2 and newer; files from 4.0 on. Nothing is run while one types, but for the names of profiles. */
export function bashCompletion(verbs: readonly KnownVerb[]): string {
  return `# bash completion of plant-store, made by: plant-store completion bash
_plant_store() {
  local word=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD - 1]} verb='' longer i
  # bash takes --format=csv for three words.
  if [[ $word == = ]]; then word=''; elif [[ $before == = ]]; then before=\${COMP_WORDS[COMP_CWORD - 2]}; fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    longer="\${verb:+$verb }\${COMP_WORDS[i]}"
    case $longer in
      ${anyOf(verbs.filter(({ path }) => path !== '').map(({ path }) => path))}) verb=$longer ;;
    esac
  done
  COMPREPLY=()
  case "\${verb:+$verb }$before" in
${placesOf(verbs)
  .map(({ place, values }) => `    ${quoted(place)}) ${offer(values)}; return ;;`)
  .join('\n')}
  esac
  case $verb in
${verbs.map((verb) => `    ${quoted(verb.path)}) ${offerOf(verb)} ;;`).join('\n')}
  esac
}
complete -F _plant_store plant-store`;
}

function offerOf({ below, options, values }: KnownVerb): string {
  const flags = compgen(options.flatMap((option) => option.flags).join(' '));
  const rest = below.length > 0 ? compgen(below.map(({ name }) => name).join(' ')) : offer(values);
  return `if [[ $word == -* ]]; then ${flags}; else ${rest}; fi`;
}

function offer(values: Values): string {
  if (values === 'anything') return ':';
  if (values === 'file') return 'compopt -o default 2>/dev/null';
  if (values === 'profile') return `COMPREPLY=($(compgen -W "$(${PROFILES})" -- "$word"))`;
  return compgen(values.choices.join(' '));
}

function compgen(words: string): string {
  return `COMPREPLY=($(compgen -W ${quoted(words)} -- "$word"))`;
}

function anyOf(texts: readonly string[]): string {
  return texts.map(quoted).join(' | ');
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
