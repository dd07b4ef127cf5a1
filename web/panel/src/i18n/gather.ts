import type { Texts } from "./i18n";

/** Texts by feature: the folder of a file is the feature's name. */
export const gather = (files: Record<string, unknown>): Record<string, Texts> =>
  Object.fromEntries(Object.entries(files).map(([path, texts]) => [path.split("/").at(-2) ?? "", texts as Texts]));
