/** The kinds of documents by which the list is filtered. */
export const documentKinds = ["invoice", "credit_note", "receipt"] as const;
