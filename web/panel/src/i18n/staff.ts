import { addTexts } from "./i18n";

let opened: Promise<void> | undefined;

/** Loads the texts of the pages of staff, which customers never need. */
export const loadStaffTexts = () =>
  (opened ??= addTexts({
    uz: () => import("./staff.uz"),
    ru: () => import("./staff.ru"),
    en: () => import("./staff.en"),
  }));
