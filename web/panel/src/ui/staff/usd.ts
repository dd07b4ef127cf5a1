import { money } from "~/i18n/formats";

/** An amount of the company's books: cents of US dollars. */
export const usd = (cents: number) => money({ amount: cents, currency: "USD" });
