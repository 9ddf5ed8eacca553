/** What is written of a plant. */
export type PlantMembers = { id: bigint; name: string; tag: string | undefined; owner?: string | undefined };

/** One line of JSON, the id with all of its digits. A plant without a tag has no such member. */
export function plantJson({ id, name, tag, owner }: PlantMembers): string {
  return JSON.stringify({ id: JSON.rawJSON(String(id)), name, tag, owner });
}
