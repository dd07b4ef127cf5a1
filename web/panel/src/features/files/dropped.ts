/** What was dropped on the list or chosen in the picker. */
export interface Dropped {
  /** Paths relative to where it was dropped: "site/img/logo.png". */
  files: { path: string; file: File }[];
  /** Directories with nothing in them, which no file's path would make. */
  empty: string[];
}

/** The part of FileSystemEntry that is read. */
export interface DroppedEntry {
  name: string;
  isFile: boolean;
  isDirectory: boolean;
  file?: (found: (file: File) => void, failed: (error: unknown) => void) => void;
  createReader?: () => {
    readEntries: (found: (entries: DroppedEntry[]) => void, failed: (e: unknown) => void) => void;
  };
}

/** Reads what was dropped to the end: a reader of a directory answers in batches until one is empty. */
export async function walk(roots: DroppedEntry[]): Promise<Dropped> {
  const dropped: Dropped = { files: [], empty: [] };
  const visit = async (entries: DroppedEntry[], above: string): Promise<void> => {
    const files = await Promise.all(entries.map(fileOf)); // one after the other takes minutes for thousands
    for (const [index, entry] of entries.entries()) {
      const path = above + entry.name;
      const file = files[index];
      if (file) {
        dropped.files.push({ path, file });
        continue;
      }
      const children = await childrenOf(entry);
      if (children?.length === 0) dropped.empty.push(path);
      if (children) await visit(children, path + "/");
    }
  };
  await visit(roots, "");
  return dropped;
}

const fileOf = (entry: DroppedEntry) =>
  entry.isFile && entry.file
    ? new Promise<File>((found, failed) => entry.file?.(found, failed))
    : Promise.resolve(undefined);

async function childrenOf(entry: DroppedEntry): Promise<DroppedEntry[] | undefined> {
  const reader = entry.createReader?.();
  if (!reader) return undefined;
  const children: DroppedEntry[] = [];
  for (;;) {
    const batch = await new Promise<DroppedEntry[]>((found, failed) => reader.readEntries(found, failed));
    if (batch.length === 0) return children;
    children.push(...batch);
  }
}

/** The entries of a drop. They can be asked for only while the event is handled. */
export function entriesOf(transfer: DataTransfer): DroppedEntry[] {
  return [...transfer.items].flatMap((item) => {
    const entry = item.webkitGetAsEntry();
    return entry ? [entry as DroppedEntry] : [];
  });
}

/** What a picker has chosen; of a folder it names the path. */
export const picked = (files: Iterable<File>): Dropped => ({
  files: [...files].map((file) => ({ path: file.webkitRelativePath || file.name, file })),
  empty: [],
});

interface There {
  name: string;
  type: string;
}

export interface Conflicts {
  /** Files that would replace files, by their relative path. */
  files: string[];
  /** A file where a directory is, or the other way round: these cannot be uploaded. */
  clashes: string[];
  /** Names that are taken, by relative directory ("" is where it was dropped). */
  taken: Map<string, Set<string>>;
}

/**
 * Compares what was dropped with what is there. `list` reads a directory by its path relative to the place of the drop.
 * Only directories that exist on both sides are read.
 */
export async function conflicts(dropped: Dropped, list: (directory: string) => Promise<There[]>): Promise<Conflicts> {
  interface Node {
    files: Set<string>;
    directories: Map<string, Node>;
  }
  const node = (): Node => ({ files: new Set(), directories: new Map() });
  const root = node();
  const place = (path: string, isFile: boolean) => {
    const names = path.split("/");
    const last = isFile ? names.pop() : undefined;
    let at = root;
    for (const name of names) {
      let below = at.directories.get(name);
      if (!below) at.directories.set(name, (below = node()));
      at = below;
    }
    if (last !== undefined) at.files.add(last);
  };
  dropped.files.forEach(({ path }) => place(path, true));
  dropped.empty.forEach((path) => place(path, false));

  const found: Conflicts = { files: [], clashes: [], taken: new Map() };
  const compare = async (here: Node, directory: string): Promise<void> => {
    const there = new Map((await list(directory)).map((entry) => [entry.name, entry.type]));
    found.taken.set(directory, new Set(there.keys()));
    const below = directory === "" ? "" : directory + "/";
    for (const name of here.files) {
      const type = there.get(name);
      if (type === "directory") found.clashes.push(below + name);
      else if (type !== undefined) found.files.push(below + name);
    }
    for (const [name, child] of here.directories) {
      const type = there.get(name);
      if (type === "directory") await compare(child, below + name);
      else if (type !== undefined) found.clashes.push(below + name);
    }
  };
  await compare(root, "");
  return found;
}
