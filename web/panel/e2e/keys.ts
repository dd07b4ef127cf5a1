import { expect, type Locator, type Page } from "@playwright/test";

import { unique, type Customer } from "./fixture";
import { reader, type Lang } from "./texts";

/** What is at the focus, in words of a person who looks: its role, its name, and whether one sees that it has the focus. */
interface Focus {
  what: string;
  hidden?: string;
}

/** Uses a page by the keyboard alone: nothing is clicked, filled or focused for it. */
export class Keys {
  constructor(private readonly page: Page) {}

  /**
   * Presses Tab, or Shift+Tab to go back, until the target has the focus. Each stop on the way must be visible. What one sees
   * of the target is the target itself, or something that stands for it.
   */
  async to(target: Locator, { back = false, most = 80, seen = target } = {}) {
    await expect(seen).toBeVisible();
    await expect(target).toBeEnabled();
    const way: string[] = [];
    for (let stops = 0; stops <= most; stops++) {
      if (await target.evaluate((element) => element === document.activeElement)) return;
      await this.page.keyboard.press(back ? "Shift+Tab" : "Tab");
      const { what, hidden } = await this.page.evaluate(atFocus);
      way.push(what);
      if (hidden) throw new Error(`the focus is at ${what}, and ${hidden}; on the way: ${way.join(" → ")}`);
    }
    throw new Error(`${most} times Tab do not lead to ${target.toString()}: ${way.join(" → ")}`);
  }

  /** Goes to a button, a link or a menu and presses it. */
  async press(target: Locator, { back = false, key = "Enter" } = {}) {
    await this.to(target, { back });
    await this.page.keyboard.press(key);
  }

  /** Goes to a field and types, instead of what is there. */
  async type(target: Locator, text: string, { back = false } = {}) {
    await this.to(target, { back });
    await this.page.keyboard.press("ControlOrMeta+a");
    await this.page.keyboard.type(text);
  }

  /** Chooses in a group of radio buttons, which has one stop: from there the arrows lead on. */
  async choose(group: Locator, name: string | RegExp) {
    const wanted = group.getByRole("radio", { name });
    const checked = group.getByRole("radio", { checked: true });
    await this.to((await checked.count()) > 0 ? checked : group.getByRole("radio").first(), { seen: group });
    const most = await group.getByRole("radio").count();
    for (let n = 0; n < most && !(await wanted.isChecked()); n++) await this.page.keyboard.press("ArrowDown");
    await expect(wanted).toBeChecked();
  }

  /** Chooses an entry of the menu that is open: the arrows lead from one to the next. */
  async menu(name: string | RegExp) {
    const entry = this.page.getByRole("menuitem", { name, exact: true });
    await expect(entry).toBeVisible();
    for (let n = 0; n < 20; n++) {
      if (await entry.evaluate((element) => element === document.activeElement)) {
        await this.page.keyboard.press("Enter");
        return;
      }
      await this.page.keyboard.press("ArrowDown");
    }
    throw new Error(`the arrows do not lead to ${String(name)} in the menu`);
  }

  /** Chooses in a list of the browser by the arrows. */
  async pick(list: Locator, label: string) {
    await this.to(list);
    await this.page.keyboard.press("Home");
    const most = await list.locator("option").count();
    const chosen = list.locator("option:checked");
    for (let n = 0; n < most && (await chosen.textContent()) !== label; n++)
      await this.page.keyboard.press("ArrowDown");
    await expect(chosen).toHaveText(label);
  }
}

/** Runs in the page. */
function atFocus(): Focus {
  const element = document.activeElement as HTMLElement | null;
  if (!element || element === document.body) return { what: "nothing" };
  const name = element.getAttribute("aria-label") ?? element.textContent?.trim().slice(0, 40) ?? "";
  const label = (element as HTMLInputElement).labels?.[0]?.textContent?.trim();
  const what = `${element.getAttribute("role") ?? element.tagName.toLowerCase()} "${label ?? name}"`;
  // A field shows the focus by its border or its caret, a switch and a choice of files beside the field itself.
  if (element.matches("input, textarea, select, [contenteditable=true]")) return { what };
  const box = element.getBoundingClientRect();
  if (box.width === 0 || box.height === 0) return { what, hidden: "has no size" };
  if (box.bottom < 0 || box.top > innerHeight) return { what, hidden: "is off the screen" };
  const style = getComputedStyle(element);
  if (style.outlineStyle === "none" && style.boxShadow === "none") return { what, hidden: "nothing shows that" };
  return { what };
}

/** Signs the customer in with a language, and opens a service's pages by the menu. */
export async function begin(page: Page, customer: Customer, lang: Lang) {
  const domain = unique("keys") + ".example.com";
  const service = await customer.service({ domain });
  await customer.call("PATCH", "/me", { locale: lang });
  const keys = new Keys(page);
  const l = reader(lang);
  await page.goto(`/panel/services/${service}`);
  /** Goes to another page of the service by its menu, which stands before the page. */
  const open = async (name: string) => {
    await keys.press(
      page
        .getByRole("navigation", { name: l("app.menu") })
        .getByRole("link", { name: l(`app.nav.service.${name}`), exact: true }),
      { back: true },
    );
    await expect(page).toHaveURL(new RegExp(`/services/${service}/${name}`));
    await expect(page.getByRole("heading", { level: 1 })).toBeFocused();
  };
  return { keys, l, service, domain, open };
}

/** The page with this title is there, and its title has the focus. */
export const atPage = (page: Page, title: string) =>
  expect(page.getByRole("heading", { level: 1, name: title })).toBeFocused();

/** The focus is not lost: it is in the page, not at its beginning. */
export const somewhere = (page: Page) => expect(page.locator("main :focus")).toHaveCount(1);
