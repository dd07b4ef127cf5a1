/** What a message may carry (internal/support/tickets). */
export const mostFiles = 5;
export const mostBytes = 3 << 20;

interface Named {
  name: string;
  size: number;
}

/** Why files cannot go with a message, as the name of a text; null when they can. The server remains the judge. */
export function filesProblem(files: readonly Named[]): "files.many" | "files.large" | "files.empty" | null {
  if (files.length > mostFiles) return "files.many";
  if (files.reduce((sum, file) => sum + file.size, 0) > mostBytes) return "files.large";
  return files.some((file) => file.size === 0) ? "files.empty" : null;
}

/** A file as the interface takes it. */
export const encode = (file: File) =>
  new Promise<{ name: string; content: string }>((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener("error", () => reject(reader.error ?? new Error(file.name)));
    reader.addEventListener("load", () => {
      const address = String(reader.result); // data:image/png;base64,iVBO…
      resolve({ name: file.name, content: address.slice(address.indexOf(",") + 1) });
    });
    reader.readAsDataURL(file);
  });
