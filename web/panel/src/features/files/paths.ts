/** Paths are rooted at the account's home: "/public_html/index.html"; the home is "/". */

export const join = (directory: string, name: string) => (directory === "/" ? "" : directory) + "/" + name;

export const parent = (path: string) => path.slice(0, path.lastIndexOf("/")) || "/";

export const baseName = (path: string) => path.slice(path.lastIndexOf("/") + 1);

/** The path that an address of the panel names: "public_html/img" is "/public_html/img". */
export const fromSplat = (splat: string | undefined) => "/" + (splat ?? "").split("/").filter(Boolean).join("/");

export const toSplat = (path: string) => path.slice(1);

/** A directory and all above it, from the home on. */
export function crumbs(path: string): { name: string; path: string }[] {
  const names = path.split("/").filter(Boolean);
  return names.map((name, at) => ({ name, path: "/" + names.slice(0, at + 1).join("/") }));
}

/** What hosting needs: it cannot be moved, replaced or deleted. */
export const isProtected = (path: string) => path === "/public_html" || path === "/logs" || path === "/tmp";

/** Whether permissions can be set: a link has none of its own, and of what hosting needs only those in the site's folder. */
export const hasPermissions = ({ path, type }: { path: string; type: string }) =>
  (type === "file" || type === "directory") && path !== "/logs" && path !== "/tmp";

export const isArchive = (name: string) => /\.(zip|tar\.gz|tgz)$/i.test(name);

/** Why a name of a file is not possible, as the name of a text; null when it is. The server remains the judge. */
export function nameProblem(name: string): "name.empty" | "name.slash" | "name.dots" | "name.long" | null {
  if (name.trim() === "") return "name.empty";
  if (name.includes("/")) return "name.slash";
  if (name === "." || name === "..") return "name.dots";
  return new TextEncoder().encode(name).length > 255 ? "name.long" : null;
}

/** A name that is not taken yet: "photo (2).jpg". */
export function freeName(name: string, taken: (name: string) => boolean): string {
  if (!taken(name)) return name;
  const dot = /\.tar\.gz$/i.test(name) ? name.length - 7 : name.lastIndexOf(".");
  const [stem, extension] = dot > 0 ? [name.slice(0, dot), name.slice(dot)] : [name, ""];
  for (let n = 2; ; n++) {
    const next = `${stem} (${n})${extension}`;
    if (!taken(next)) return next;
  }
}

export type Order = "name" | "size" | "modified";

interface Sortable {
  name: string;
  type: string;
  size_bytes: number | null;
  modified_at: string;
}

/** Entries in order; directories always stand before files. */
export function sorted<T extends Sortable>(entries: T[], order: Order, descending: boolean): T[] {
  const names = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });
  const by: Record<Order, (a: T, b: T) => number> = {
    name: (a, b) => names.compare(a.name, b.name),
    size: (a, b) => (a.size_bytes ?? -1) - (b.size_bytes ?? -1),
    modified: (a, b) => a.modified_at.localeCompare(b.modified_at),
  };
  const group = (entry: T) => (entry.type === "directory" ? 0 : 1);
  return [...entries].sort(
    (a, b) => group(a) - group(b) || (descending ? -1 : 1) * by[order](a, b) || names.compare(a.name, b.name),
  );
}
