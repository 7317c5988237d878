/** The words of a text: a list of names, addresses and the like, as it is written. */
export const words = (text: string): string[] => text.trim().split(/\s+/);
