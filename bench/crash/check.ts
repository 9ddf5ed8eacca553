/** A condition that must hold after all kills. */
export type Check = { name: string; count: number; violations: string[] };
