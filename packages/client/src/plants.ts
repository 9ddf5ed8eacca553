import { type Int64, type Int64Input, integerOf, integerText } from './json.ts';
import { type InPages, type OnePage, type Page, pageOf, walk } from './pages.ts';
import { PlantStoreError } from './plant-store-error.ts';
import type { CallOptions, KeyedOptions, Requests } from './requests.ts';
import type { ListedPlant, PlantInput } from './schemas.ts';

/** A plant as it was created. */
export type CreatedPlant = { id: Int64; name: string; tag?: string };

export type PlantField = keyof ListedPlant;

/** A plant of the list with the requested fields. One without a tag has no `tag`. */
export type PlantWith<Field extends PlantField> = Pick<
  Required<Omit<ListedPlant, 'tag'>> & Pick<ListedPlant, 'tag'>,
  Field
>;

export type PlantListOptions<Field extends PlantField> = CallOptions & {
  /** By default all fields. */
  fields?: readonly Field[] | undefined;
  /** Only plants whose name starts with this, both in NFC and lower case; ordered by that form of the name. */
  name?: string | undefined;
  /** `desc` for descending ids. Not together with `name`. */
  order?: 'desc' | undefined;
  /** The first page begins at the user's own plant with this id, or where it would be. Not together with `name`. */
  from?: Int64Input | undefined;
};

/** The store of plants. */
export type Plants = {
  /** Adds a plant. Without an `id` it gets the next free one. */
  create(plant: PlantInput, options?: KeyedOptions): Promise<CreatedPlant>;
  /**
   * Every plant that the token's user has access to: their own by id, then those that others share, by the owner's
   * name and id. Fetched in pages of `pageSize`, by default 1 000; a plant that exists throughout appears exactly
   * once.
   */
  list<Field extends PlantField = PlantField>(
    options?: InPages<PlantListOptions<Field>>,
  ): AsyncGenerator<PlantWith<Field>, void, void>;
  /** One page of that list: `limit` plants, by default 100, after `cursor`. `cursor: 'last'` is the last page. */
  page<Field extends PlantField = PlantField>(
    options?: OnePage<PlantListOptions<Field>>,
  ): Promise<Page<PlantWith<Field>>>;
  /**
   * Deletes a plant. If a response is lost, it retries, and "not found" then counts as success: the plant is gone,
   * whoever deleted it.
   */
  delete(id: Int64Input, options?: CallOptions): Promise<void>;
};

const ALL_FIELDS = 'id,name,tag,owner';

export function plantsOf({ send }: Requests): Plants {
  const page: Plants['page'] = async ({ fields = ALL_FIELDS, limit = 100, from, signal, ...rest } = {}) => {
    const query = { ...rest, from: rest.cursor ? undefined : from, fields, limit };
    return pageOf(await send({ path: ['plants'], query, signal }));
  };

  return {
    async create({ id: wanted, ...plant }, options) {
      // JSON.stringify does not support bigint. All members are sent: the service refuses unknown ones.
      const members = JSON.stringify(plant).slice(1);
      const id = wanted === undefined ? '' : `"id":${integerText(wanted)}${members === '}' ? '' : ','}`;
      const request = { ...options, method: 'POST' as const, path: ['plants'], body: `{${id}${members}` };
      const { body, headers } = await send<Omit<CreatedPlant, 'id'>>(request);
      const [, text] = /\/(-?\d+)$/.exec(headers.get('location') ?? '') ?? [];
      if (text === undefined) {
        throw new PlantStoreError('The plant was added, but its id is missing.', {
          status: 201,
        });
      }
      return { ...body, id: integerOf(text) };
    },
    page,
    list: ({ pageSize: limit = 1000, ...options } = {}) =>
      walk((cursor) => page({ ...options, limit, cursor })),
    async delete(id, options) {
      await send({ ...options, method: 'DELETE', path: ['plants', integerText(id)] });
    },
  };
}
