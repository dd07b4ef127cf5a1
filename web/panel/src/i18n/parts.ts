import { addTexts } from "./i18n";

/** Loads texts once. What failed is tried anew by the next call. */
const once = (load: () => Promise<void>) => {
  let loaded: Promise<void> | undefined;
  return () =>
    (loaded ??= load().catch((error: unknown) => {
      loaded = undefined;
      throw error;
    }));
};

/** Loads the texts of all pages but the overview, which is the first page of most visits. */
export const loadPageTexts = once(() =>
  addTexts({
    uz: () => import("./pages.uz"),
    ru: () => import("./pages.ru"),
    en: () => import("./pages.en"),
  }),
);

/** Loads the texts of the pages of staff, which customers never need. */
export const loadStaffTexts = once(() =>
  addTexts({
    uz: () => import("./staff.uz"),
    ru: () => import("./staff.ru"),
    en: () => import("./staff.en"),
  }),
);
