import { base64 } from "../base64";

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
export const encode = async (file: File) => ({ name: file.name, content: await base64(file) });
