/** What is to become of a picture: it stays, goes, or is replaced by a file's content as a data URL. */
export type Plan = { keep: true } | { remove: true } | { url: string };

/** The largest pictures, in KB. The server remains the judge. */
export const maxKB = { logo: 256, icon: 64 };

/** The base64 part of a data URL. */
export const base64Of = (url: string) => url.slice(url.indexOf(",") + 1);

/** Reads a file as a data URL. */
export const read = (file: File) =>
  new Promise<string>((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result as string);
    reader.onerror = () => reject(reader.error ?? new Error("the file cannot be read"));
    reader.readAsDataURL(file);
  });

/** What is shown of a picture: the present one, the new one, or none. */
export function shownOf(plan: Plan, present: string | null) {
  if ("url" in plan) return plan.url;
  return "remove" in plan ? null : present;
}
