/** What JSON writes as it is, between quotes. */
const PLAIN = /^[ !#-[\]-~]*$/;

/** A text as JSON has it. Nearly all that a program writes by the thousand is plain, and needs no look at each character. */
export const quoted = (text: string): string => (PLAIN.test(text) ? `"${text}"` : JSON.stringify(text));
