/** The kinds of documents by which the list is filtered. */
export const kinds = ["invoice", "credit_note", "receipt"] as const;
export type Kind = (typeof kinds)[number];
