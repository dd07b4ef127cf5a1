import { loadStaffTexts } from "~/i18n/parts";

/** The menu of the pages of staff, with its texts. */
export async function menu() {
  await loadStaffTexts();
  return { default: (await import("./StaffMenu")).StaffMenu };
}

/** The bar over the pages of a customer for whom a member of staff is signed in, with its texts. */
export async function acting() {
  await loadStaffTexts();
  return { default: (await import("./ActingBar")).ActingBar };
}
