/** The addresses and networks of a text in which they stand on lines of their own, or between commas or blanks. */
export const addressesOf = (text: string) => text.split(/[\s,]+/).filter(Boolean);

const part = /^(25[0-5]|2[0-4]\d|1?\d?\d)$/;

const isAddress = (text: string) =>
  text.includes(":")
    ? /^[0-9a-f:]{2,39}$/i.test(text) && (text.match(/::/g) ?? []).length <= 1
    : text.split(".").length === 4 && text.split(".").every((one) => part.test(one));

/** The first of the addresses that is none, for a note beside the field; null when all are. The server remains the judge. */
export function wrongAddress(text: string): string | null {
  for (const one of addressesOf(text)) {
    const [address = "", bits, more] = one.split("/");
    const most = address.includes(":") ? 128 : 32;
    const fits = bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= most);
    if (!isAddress(address) || !fits || more !== undefined) return one;
  }
  return null;
}
