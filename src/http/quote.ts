/** A longer name is cut: room for every name that the service knows, and for no token that was put in its place. */
const LONGEST = 24;

/** A name that the client chose, as a message shows it. */
export function quote(name: string): string {
  return JSON.stringify(name.length > LONGEST ? `${name.slice(0, LONGEST)}…` : name);
}
