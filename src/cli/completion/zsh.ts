import { type KnownVerb, PROFILES, placesOf, type Values } from './verbs.ts';

/** For a file `_plant-store` in the `fpath` of zsh, or to be sourced behind `compinit`. */
export function zshCompletion(verbs: readonly KnownVerb[]): string {
  return `#compdef plant-store
# zsh completion of plant-store, made by: plant-store completion zsh
_plant_store() {
  local verb='' longer before=\${words[CURRENT-1]} i
  local -a verbs options
  for ((i = 2; i < CURRENT; i++)); do
    longer="\${verb:+$verb }\${words[i]}"
    case $longer in
      (${verbs
        .filter(({ path }) => path !== '')
        .map(({ path }) => quoted(path))
        .join('|')}) verb=$longer ;;
    esac
  done
  case "\${verb:+$verb }$before" in
${placesOf(verbs)
  .map(({ place, values }) => `    (${quoted(place)}) ${offer(values)}; return ;;`)
  .join('\n')}
  esac
  case $verb in
${verbs.map(offerOf).join('\n')}
  esac
}
if [[ \${funcstack[1]} == _plant_store ]]; then _plant_store "$@"; else compdef _plant_store plant-store; fi`;
}

function offerOf({ path, below, options, values }: KnownVerb): string {
  const flags = options.flatMap((option) => option.flags.map((flag) => described(flag, option.description)));
  const verbs = below.map(({ name, description }) => described(name, description));
  const rest = verbs.length > 0 ? '_describe verb verbs' : offer(values);
  return `    (${quoted(path)})
      options=(${flags.join(' ')})
      verbs=(${verbs.join(' ')})
      if [[ \${words[CURRENT]} == -* ]]; then _describe -o option options; else ${rest}; fi ;;`;
}

function offer(values: Values): string {
  if (values === 'anything') return ':';
  if (values === 'file') return '_files';
  if (values === 'profile') return `compadd -- \${(f)"$(${PROFILES})"}`;
  return `compadd -- ${values.choices.map(quoted).join(' ')}`;
}

function described(word: string, description: string): string {
  return quoted(`${word.replaceAll(':', '\\:')}:${description}`);
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
