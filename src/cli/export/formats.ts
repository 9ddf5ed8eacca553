import type { PlantField, PlantWith } from '../../../packages/client/src/plants.ts';
import { csvLine } from '../../import/csv.ts';
import { plantJson } from '../../plants/plant.ts';

export type ListedPlant = PlantWith<PlantField>;

export const plantFormats = ['csv', 'ndjson', 'json'] as const;
export type PlantFormat = (typeof plantFormats)[number];

/** Writes a file of plants in parts. */
type PlantWriter = {
  begin: string;
  /** @param isFirst whether these are the first plants */
  rows(plants: readonly ListedPlant[], isFirst: boolean): string;
  end: string;
};

/** @param withOwner whether to add each plant's owner; such a file cannot be imported */
export function plantWriter(format: PlantFormat, withOwner: boolean): PlantWriter {
  const json = (plant: ListedPlant) => plantJson(withOwner ? plant : { ...plant, owner: undefined });
  if (format === 'csv') {
    return {
      begin: withOwner ? 'id,name,tag,owner\n' : 'id,name,tag\n',
      rows: (plants) => plants.map((plant) => csvRow(plant, withOwner)).join(''),
      end: '',
    };
  }
  if (format === 'ndjson') {
    return { begin: '', rows: (plants) => plants.map((plant) => `${json(plant)}\n`).join(''), end: '' };
  }
  return {
    begin: '[',
    rows: (plants, isFirst) =>
      (isFirst ? '\n' : ',\n') + plants.map((plant) => `  ${json(plant)}`).join(',\n'),
    end: '\n]\n',
  };
}

/** The format for a file name's extension. */
export function formatOf(file: string): PlantFormat | undefined {
  const ending = /\.(\w+)$/.exec(file)?.[1]?.toLowerCase();
  return plantFormats.find((format) => format === (ending === 'jsonl' ? 'ndjson' : ending));
}

function csvRow({ id, name, tag = '', owner }: ListedPlant, withOwner: boolean): string {
  return csvLine([String(id), name, tag, ...(withOwner ? [owner] : [])]);
}
