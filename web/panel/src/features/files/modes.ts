/** Permissions as numbers: 0o644. */

export const classes = ["owner", "group", "others"] as const;
export const rights = ["read", "write", "execute"] as const;

export type Class = (typeof classes)[number];
export type Right = (typeof rights)[number];

/** The bit of a right of a class: 0o400 is the owner's to read. */
export const bit = (who: Class, right: Right) => 0o400 >> (classes.indexOf(who) * 3 + rights.indexOf(right));

/** The bits that hosting lets nobody set: writing by everybody. */
export const never = bit("others", "write");

/** The bits that files, or directories, always have: the owner reads, and opens directories. */
export const always = (folder: boolean) => (folder ? 0o500 : 0o400);

/** "0644" and "644" are 0o644; what is no permissions is null. */
export const parseMode = (text: string) => (/^0?[0-7]{3}$/.test(text.trim()) ? parseInt(text, 8) : null);

export const octal = (mode: number) => mode.toString(8).padStart(3, "0");

/** The mode of folders whose files have `mode`: who may read files may open folders. */
export const folderMode = (mode: number) => mode | ((mode & 0o444) >> 2);

/** The mode of files in folders of `mode`. */
export const fileMode = (mode: number) => mode & 0o666;

/** A mode that hosting allows, from one that it may not. */
export const allowed = (mode: number, folder: boolean) => (mode & ~never) | always(folder);

/** Why permissions cannot be set, as the name of a text; null when they can. The server remains the judge. */
export function modeProblem(text: string, folder: boolean): "mode.format" | "mode.unsafe" | "mode.owner" | null {
  const mode = parseMode(text);
  if (mode === null) return "mode.format";
  if (mode & never) return "mode.unsafe";
  return (mode & always(folder)) === always(folder) ? null : "mode.owner";
}
