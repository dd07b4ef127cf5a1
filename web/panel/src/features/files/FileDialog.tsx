import { Button, Checkbox, Group, Modal, Stack, Text, TextInput } from "@mantine/core";
import { useState, type FormEvent, type ReactNode } from "react";

import { useAction } from "~/ui/action";
import { ErrorNote } from "~/ui/ErrorNote";
import { done } from "~/ui/notice";

import {
  copy,
  extract,
  makeDirectory,
  makeFile,
  move,
  pack,
  readDirectory,
  remove,
  setPermissions,
  type Entry,
} from "./api";
import { Batch, isGone } from "./batch";
import classes from "./Files.module.css";
import { FolderPicker } from "./FolderPicker";
import { folderMode, octal } from "./modes";
import { baseName, freeName, join, nameProblem, parent } from "./paths";
import { PermissionsForm, usePermissions } from "./PermissionsForm";
import { t } from "./texts";

/** What a person wants to do with files. */
export type Task =
  | { kind: "folder" | "file" }
  | { kind: "rename" | "extract"; entry: Entry }
  | { kind: "move" | "copy" | "delete" | "pack" | "permissions"; entries: Entry[] };

interface Props {
  service: number;
  directory: string;
  /** What is in the directory, to choose names that are free. */
  entries: Entry[];
  onClose: () => void;
  onDone: () => Promise<unknown>;
}

const titleOf = (task: Task) => {
  if ("entry" in task) return t(task.kind, {}) + ": " + task.entry.name;
  if ("entries" in task) {
    const [only] = task.entries;
    const what = task.entries.length === 1 && only ? only.name : t("selected", { count: task.entries.length });
    return t(task.kind) + ": " + what;
  }
  return t(`new.${task.kind}`);
};

/** The dialog of a task; null closes it. */
export function FileDialog({ task, ...props }: Props & { task: Task | null }) {
  return (
    <Modal opened={task !== null} onClose={props.onClose} title={task && titleOf(task)} size="lg">
      {task && <TaskForm task={task} {...props} />}
    </Modal>
  );
}

function TaskForm({ task, ...props }: Props & { task: Task }) {
  switch (task.kind) {
    case "folder":
    case "file":
      return <NameForm {...props} kind={task.kind} />;
    case "rename":
      return <NameForm {...props} kind="rename" entry={task.entry} />;
    case "move":
    case "copy":
      return <PlaceForm {...props} kind={task.kind} chosen={task.entries} />;
    case "pack":
      return <PackForm {...props} chosen={task.entries} />;
    case "extract":
      return <ExtractForm {...props} entry={task.entry} />;
    case "permissions":
      return <ModeForm {...props} chosen={task.entries} />;
    case "delete":
      return <DeleteForm {...props} chosen={task.entries} />;
  }
}

/** The frame of a task's form: it does the work, shows why it was refused, and closes. */
function Frame({
  action,
  label,
  children,
  onClose,
  onDone,
  color,
  ready = true,
}: {
  /** Answers what to tell the person; null says that the form still asks something. */
  action: () => Promise<string | null>;
  label: string;
  children: ReactNode;
  onClose: () => void;
  onDone: () => Promise<unknown>;
  color?: string;
  ready?: boolean;
}) {
  const [run, { busy, error }] = useAction(async () => {
    const message = await action();
    if (message === null) return;
    onClose();
    done(message);
  });
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    await run();
    await onDone(); // some of several may have been done
  };
  return (
    <form onSubmit={(event) => void submit(event)} noValidate>
      <Stack>
        {children}
        <ErrorNote error={error} />
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            {t("cancel")}
          </Button>
          <Button type="submit" loading={busy} color={color} disabled={!ready}>
            {label}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

function useName(initial: string) {
  const [name, setName] = useState(initial);
  const [shown, setShown] = useState(false);
  const problem = nameProblem(name);
  return {
    name,
    ok: () => {
      setShown(true);
      return problem === null;
    },
    input: {
      value: name,
      onChange: (event: { currentTarget: { value: string } }) => setName(event.currentTarget.value),
      onBlur: () => name !== "" && setShown(true),
      error: shown && problem ? t(problem) : undefined,
      autoComplete: "off",
      spellCheck: false,
      "data-autofocus": true,
    },
  };
}

function NameForm({
  kind,
  entry,
  service,
  directory,
  ...props
}: Props & { kind: "folder" | "file" | "rename"; entry?: Entry }) {
  const { name, ok, input } = useName(entry?.name ?? "");
  const action = async () => {
    if (!ok()) return null;
    if (kind === "folder") await makeDirectory(service, join(directory, name));
    else if (kind === "file") await makeFile(service, join(directory, name));
    else if (entry && name !== entry.name) await move(service, entry.path, join(parent(entry.path), name));
    return t(`done.${kind}`, { name });
  };
  return (
    <Frame {...props} action={action} label={t(kind === "rename" ? "rename" : "make")}>
      <TextInput label={t("field.name")} {...input} />
    </Frame>
  );
}

/** The chosen entries, of which those that are left are drawn. */
function useBatch(chosen: Entry[]) {
  const [batch] = useState(() => new Batch(chosen));
  const [state, setState] = useState({ left: batch.left, count: batch.count });
  const each = (work: (entry: Entry) => Promise<unknown>) =>
    batch.each(work, () => setState({ left: batch.left, count: batch.count }));
  return { ...state, batch, each };
}

function PlaceForm({ kind, chosen, service, directory, ...props }: Props & { kind: "move" | "copy"; chosen: Entry[] }) {
  const [target, setTarget] = useState(directory);
  const { left, count, batch, each } = useBatch(chosen);
  // Into itself nothing can go.
  const inside = left.some((entry) => target === entry.path || target.startsWith(entry.path + "/"));
  const place = target === "/" ? t("home") : target;
  const action = async () => {
    const there = kind === "copy" ? (await readDirectory(service, target)).entries : [];
    const taken = new Set(there.map((entry) => entry.name));
    await each(async (entry) => {
      const name = kind === "copy" ? freeName(entry.name, (other) => taken.has(other)) : entry.name;
      await (kind === "move" ? move : copy)(service, entry.path, join(target, name));
      taken.add(name);
    });
    return t(`done.${kind}`, { count: batch.count, name: place });
  };
  return (
    <Frame
      {...props}
      action={action}
      label={t(`${kind}.here`)}
      ready={left.length > 0 && !inside && (kind === "copy" || target !== directory)}
    >
      {count === 0 ? (
        <FolderPicker service={service} value={target} onChange={setTarget} label={t("field.target")} />
      ) : (
        // The rest goes where the first went.
        <Text style={{ overflowWrap: "anywhere" }}>
          {t("field.target")}: {place}
        </Text>
      )}
      {inside && (
        <Text size="sm" c="dimmed">
          {t("inside")}
        </Text>
      )}
    </Frame>
  );
}

function PackForm({ chosen, service, directory, entries, ...props }: Props & { chosen: Entry[] }) {
  const taken = (name: string) => entries.some((entry) => entry.name === name);
  const [first] = chosen;
  const { name, ok, input } = useName(
    freeName((chosen.length === 1 && first ? first.name : baseName(directory) || "files") + ".zip", taken),
  );
  const action = async () => {
    if (!ok()) return null;
    await pack(
      service,
      chosen.map((entry) => entry.path),
      join(directory, name),
    );
    return t("done.pack", { name });
  };
  return (
    <Frame {...props} action={action} label={t("pack")}>
      <TextInput label={t("field.archive")} description={t("field.archive_hint")} {...input} />
    </Frame>
  );
}

function ExtractForm({ entry, service, directory, ...props }: Props & { entry: Entry }) {
  const [target, setTarget] = useState(directory);
  const [overwrite, setOverwrite] = useState(false);
  const action = async () => {
    const { extracted } = await extract(service, entry.path, target, overwrite);
    return t("done.extract", { count: extracted?.files ?? 0, name: target === "/" ? t("home") : target });
  };
  return (
    <Frame {...props} action={action} label={t("extract.here")}>
      <FolderPicker service={service} value={target} onChange={setTarget} label={t("field.target")} />
      <Checkbox
        label={t("field.overwrite")}
        description={t("field.overwrite_hint")}
        checked={overwrite}
        onChange={(event) => setOverwrite(event.currentTarget.checked)}
      />
    </Frame>
  );
}

function ModeForm({ chosen, service, ...props }: Props & { chosen: Entry[] }) {
  const permissions = usePermissions(chosen);
  const { batch, each } = useBatch(chosen);
  const { mode, problem, ofFolders, recursive } = permissions;
  const action = async () => {
    if (mode === null || problem) return null;
    await each((entry) => {
      // Of files and folders that are chosen together, the folders can be opened.
      const alone = entry.type === "directory" && !recursive && !ofFolders;
      return setPermissions(
        service,
        entry.path,
        octal(alone ? folderMode(mode) : mode),
        recursive && entry.type === "directory",
      );
    });
    return t("done.permissions", { count: batch.count });
  };
  return (
    <Frame {...props} action={action} label={t("permissions.set")} ready={!problem}>
      <PermissionsForm permissions={permissions} />
    </Frame>
  );
}

function DeleteForm({ chosen, service, ...props }: Props & { chosen: Entry[] }) {
  const [typed, setTyped] = useState("");
  const { left, batch, each } = useBatch(chosen);
  const [folder] = useState(() => chosen.find((entry) => entry.type === "directory")); // its name was typed once
  const action = async () => {
    await each((entry) =>
      remove(service, entry).catch((error) => {
        if (!isGone(error)) throw error; // somebody else has deleted it
      }),
    );
    return t("done.delete", { count: batch.count });
  };
  return (
    <Frame {...props} action={action} label={t("delete")} color="red" ready={!folder || typed === folder.name}>
      <Text>{t(folder ? "delete.folders" : "delete.files")}</Text>
      <ul className={classes.list}>
        {left.map((entry) => (
          <li key={entry.path}>{entry.type === "directory" ? entry.name + "/" : entry.name}</li>
        ))}
      </ul>
      {folder && (
        <TextInput
          label={t("delete.type", { name: folder.name })}
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
          autoComplete="off"
          spellCheck={false}
          data-autofocus
        />
      )}
    </Frame>
  );
}
