/** Whether an address leaves the encryption that the reader has here. */
export const unencrypted = (url: string, protocol: string) => protocol === "https:" && !url.startsWith("https:");

/** How much of its bound a database occupies, in percent up to 100; null where there is no bound, or the size is not known. */
export const filled = (sizeMB: number | null, maxSizeMB: number | null) =>
  sizeMB === null || maxSizeMB === null ? null : Math.min(100, (sizeMB / Math.max(maxSizeMB, 1)) * 100);
