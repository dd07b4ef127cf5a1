import {
  ActionIcon,
  Alert,
  Anchor,
  Badge,
  Breadcrumbs,
  Button,
  Checkbox,
  FileButton,
  Group,
  Loader,
  Menu,
  Paper,
  Table,
  Text,
  TextInput,
  UnstyledButton,
} from "@mantine/core";
import {
  IconArrowDown,
  IconArrowUp,
  IconDots,
  IconFile,
  IconFileZip,
  IconFolder,
  IconFolderPlus,
  IconLink,
  IconPlus,
  IconSearch,
  IconUpload,
} from "@tabler/icons-react";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo, useRef, useState, type DragEvent, type ReactNode } from "react";

import { bytes, number } from "~/i18n/formats";
import { AnchorLink } from "~/ui/AnchorLink";
import { Empty } from "~/ui/Empty";
import { Load } from "~/ui/Load";
import { failed } from "~/ui/notice";
import { PageHeader } from "~/ui/PageHeader";
import { Pager } from "~/ui/Pager";
import { When } from "~/ui/When";

import { directory, downloadOf, mostAtOnce, mostSorted, rowsOfDirectory, wholeDirectory, type Entry } from "./api";
import { entriesOf, picked, walk, type Dropped } from "./dropped";
import { FileDialog, type Task } from "./FileDialog";
import classes from "./Files.module.css";
import { baseName, crumbs, hasPermissions, isArchive, isProtected, sorted, toSplat, type Order } from "./paths";
import { Search } from "./Search";
import { t } from "./texts";
import { UploadDialog } from "./UploadDialog";
import type { View } from "./view";

const rowsOfPage = 100;

/** The files of a directory: browse, change, and drop new ones anywhere. */
export function Files({
  service,
  path,
  view,
  onView,
}: {
  service: number;
  path: string;
  view: View;
  onView: (view: View) => void;
}) {
  const query = useQuery(directory(service, path));
  const queries = useQueryClient();
  const [task, setTask] = useState<Task | null>(null);
  const list = { service, view, onView, onTask: setTask };
  const [dropped, setDropped] = useState<Dropped | null>(null);
  const [reading, setReading] = useState(false);
  const [over, setOver] = useState(false);
  const leaving = useRef<ReturnType<typeof setTimeout>>(undefined);
  const changed = () => queries.invalidateQueries({ queryKey: ["service", service, "files"] });

  const hasFiles = (event: DragEvent) => event.dataTransfer.types.includes("Files");
  const drop = (event: DragEvent) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    clearTimeout(leaving.current);
    setOver(false);
    setReading(true);
    walk(entriesOf(event.dataTransfer))
      .then(setDropped, failed)
      .finally(() => setReading(false));
  };
  return (
    <div
      className={classes.page}
      onDragOver={(event) => {
        if (!hasFiles(event)) return;
        event.preventDefault();
        // Browsers repeat this event while files are over the page; that they have left is not told reliably.
        clearTimeout(leaving.current);
        leaving.current = setTimeout(() => setOver(false), 600);
        setOver(true);
      }}
      onDrop={drop}
    >
      {over && (
        <div className={classes.target} aria-hidden>
          <IconUpload size={32} />
          <Text fw={600}>{t("drop", { name: path === "/" ? t("home") : baseName(path) })}</Text>
        </div>
      )}
      <PageHeader
        title={t("title")}
        description={t("description")}
        actions={
          <>
            <Menu position="bottom-end">
              <Menu.Target>
                <Button variant="default" leftSection={<IconPlus size={16} aria-hidden />}>
                  {t("new")}
                </Button>
              </Menu.Target>
              <Menu.Dropdown>
                <Menu.Item
                  leftSection={<IconFolderPlus size={16} aria-hidden />}
                  onClick={() => setTask({ kind: "folder" })}
                >
                  {t("new.folder")}
                </Menu.Item>
                <Menu.Item leftSection={<IconFile size={16} aria-hidden />} onClick={() => setTask({ kind: "file" })}>
                  {t("new.file")}
                </Menu.Item>
              </Menu.Dropdown>
            </Menu>
            <UploadButtons onPicked={(files) => setDropped(picked(files))} />
          </>
        }
      />
      {(reading || dropped) && (
        <Group role="status" mb="md" gap="sm">
          <Loader size="xs" aria-hidden />
          <Text size="sm">{t("reading")}</Text>
        </Group>
      )}
      <Group justify="space-between" mb="md" gap="sm">
        <Crumbs service={service} path={path} />
        <SearchForm key={view.q ?? ""} view={view} onView={onView} />
      </Group>
      {view.q ? (
        <Search
          service={service}
          path={path}
          q={view.q}
          where={view.in ?? "name"}
          onWhere={(where) => onView({ ...view, in: where })}
          onClose={() => onView({ ...view, q: undefined, in: undefined })}
        />
      ) : (
        <Load query={query}>
          {({ entries, total }) =>
            entries.length === 0 ? (
              <Empty icon={IconFolder} title={t("empty.title")} text={t("empty.text")} />
            ) : total > mostAtOnce ? (
              <Large key={path} {...list} path={path} total={total} />
            ) : (
              <Whole key={path} {...list} entries={entries} total={total} />
            )
          }
        </Load>
      )}
      <FileDialog
        service={service}
        directory={path}
        entries={query.data?.entries ?? []}
        task={task}
        onClose={() => setTask(null)}
        onDone={changed}
      />
      <UploadDialog service={service} directory={path} dropped={dropped} onClose={() => setDropped(null)} />
    </div>
  );
}

function UploadButtons({ onPicked }: { onPicked: (files: File[]) => void }) {
  return (
    <>
      <FileButton multiple onChange={onPicked}>
        {(props) => (
          <Button {...props} leftSection={<IconUpload size={16} aria-hidden />}>
            {t("upload")}
          </Button>
        )}
      </FileButton>
      <FileButton multiple onChange={onPicked} inputProps={{ webkitdirectory: "" } as object}>
        {(props) => (
          <Button {...props} variant="light">
            {t("upload.folder")}
          </Button>
        )}
      </FileButton>
    </>
  );
}

/** The way from the home to the directory. */
export function Crumbs({ service, path, last }: { service: number; path: string; last?: ReactNode }) {
  const all = [{ name: t("home"), path: "/" }, ...crumbs(path)];
  return (
    <Breadcrumbs component="nav" aria-label={t("path")} separatorMargin={6} className={classes.crumbs}>
      {all.map((crumb, at) =>
        at === all.length - 1 && !last ? (
          <Text key={crumb.path} span fw={600} aria-current="page">
            {crumb.name}
          </Text>
        ) : (
          <AnchorLink
            key={crumb.path}
            to="/services/$service/files/$"
            params={{ service: String(service), _splat: toSplat(crumb.path) }}
          >
            {crumb.name}
          </AnchorLink>
        ),
      )}
      {last}
    </Breadcrumbs>
  );
}

function SearchForm({ view, onView }: { view: View; onView: (view: View) => void }) {
  return (
    <form
      role="search"
      className={classes.search}
      onSubmit={(event) => {
        event.preventDefault();
        const q = String(new FormData(event.currentTarget).get("q")).trim();
        onView({ ...view, q: q || undefined, page: undefined });
      }}
    >
      <TextInput
        name="q"
        type="search"
        defaultValue={view.q ?? ""}
        placeholder={t("search.hint")}
        aria-label={t("search")}
        leftSection={<IconSearch size={16} aria-hidden />}
        maxLength={200}
      />
    </form>
  );
}

const shapes = { directory: IconFolder, file: IconFile, symlink: IconLink, other: IconFile };

/** The name of an entry, which leads to where it is opened. */
export function EntryName({ service, entry, label }: { service: number; entry: Entry; label?: string }) {
  const Shape = entry.type === "file" && isArchive(entry.name) ? IconFileZip : shapes[entry.type];
  const params = { service: String(service), _splat: toSplat(entry.path) };
  return (
    <Group gap="xs" wrap="nowrap" className={classes.name}>
      <Shape
        size={20}
        className={entry.type === "directory" ? classes.folder : classes.file}
        aria-label={t(`type.${entry.type}`)}
        role="img"
      />
      <Group gap={6} miw={0}>
        {entry.type === "directory" ? (
          <AnchorLink to="/services/$service/files/$" params={params} inherit>
            {label ?? entry.name}
          </AnchorLink>
        ) : entry.type === "file" && !isArchive(entry.name) ? (
          <AnchorLink to="/services/$service/edit/$" params={params} preload={false} inherit c="inherit">
            {label ?? entry.name}
          </AnchorLink>
        ) : (
          <span>{label ?? entry.name}</span>
        )}
        {entry.link_target && (
          <Text span size="sm" c="dimmed">
            → {entry.link_target}
          </Text>
        )}
        {entry.path === "/public_html" && <Badge variant="light">{t("served")}</Badge>}
      </Group>
    </Group>
  );
}

interface ListProps {
  service: number;
  total: number;
  view: View;
  onView: (view: View) => void;
  onTask: (task: Task) => void;
}

/** A directory that was read whole. */
function Whole({ entries, ...props }: ListProps & { entries: Entry[] }) {
  const { order = "name", descending = false, page = 1 } = props.view;
  const rows = useMemo(() => sorted(entries, order, descending), [entries, order, descending]);
  const lastPage = Math.ceil(rows.length / rowsOfPage);
  const here = Math.min(page, lastPage);
  return (
    <List
      {...props}
      rows={rows}
      shown={rows.slice((here - 1) * rowsOfPage, here * rowsOfPage)}
      here={here}
      lastPage={lastPage}
    />
  );
}

/** A large directory: by name page by page, and in another order read whole once that is wished. */
function Large({ path, ...props }: ListProps & { path: string }) {
  const { service, total, view } = props;
  const byName = (view.order ?? "name") === "name" && !view.descending;
  const lastPage = Math.ceil(total / rowsOfPage);
  const here = Math.min(Math.max(Math.trunc(view.page ?? 1), 1), lastPage);
  const page = useQuery({ ...rowsOfDirectory(service, path, here, rowsOfPage), enabled: byName });
  const whole = useQuery({ ...wholeDirectory(service, path), enabled: !byName });
  if (!byName)
    return (
      <Load query={whole}>
        {(entries) => (
          <>
            <Whole {...props} entries={entries} />
            {total > mostSorted && (
              <Alert mt="sm" color="blue">
                {t("many", { count: number(mostSorted) })}
              </Alert>
            )}
          </>
        )}
      </Load>
    );
  return (
    <Load query={page}>
      {(rows) => <List {...props} rows={rows} shown={rows} here={here} lastPage={lastPage} onePage />}
    </Load>
  );
}

function List({
  service,
  rows,
  shown,
  total,
  here,
  lastPage,
  onePage = false,
  view,
  onView,
  onTask,
}: ListProps & {
  /** What can be chosen, and of it what is on the page. */
  rows: Entry[];
  shown: Entry[];
  here: number;
  lastPage: number;
  /** Only what is on the page is known. */
  onePage?: boolean;
}) {
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const { order = "name", descending = false } = view;
  const selection = rows.filter((entry) => chosen.has(entry.path));
  const toggle = (path: string) => {
    const next = new Set(chosen);
    if (!next.delete(path)) next.add(path);
    setChosen(next);
  };
  const head = (key: Order, label: string, className?: string) => (
    <Table.Th
      scope="col"
      className={className}
      aria-sort={order === key ? (descending ? "descending" : "ascending") : undefined}
    >
      <UnstyledButton
        className={classes.sort}
        onClick={() => onView({ ...view, order: key, descending: order === key && !descending, page: undefined })}
      >
        {label}
        {order === key &&
          (descending ? <IconArrowDown size={14} aria-hidden /> : <IconArrowUp size={14} aria-hidden />)}
      </UnstyledButton>
    </Table.Th>
  );
  return (
    <>
      {selection.length > 0 && (
        <Selection service={service} entries={selection} onTask={onTask} onClear={() => setChosen(new Set())} />
      )}
      <Paper withBorder>
        <Table className={classes.table} highlightOnHover verticalSpacing={6}>
          <caption className="visually-hidden">{t("title")}</caption>
          <Table.Thead>
            <Table.Tr>
              <Table.Th className={classes.check}>
                <Checkbox
                  aria-label={t(onePage ? "select.page" : "select.all")}
                  checked={selection.length === rows.length}
                  indeterminate={selection.length > 0 && selection.length < rows.length}
                  onChange={() =>
                    setChosen(selection.length === rows.length ? new Set() : new Set(rows.map((entry) => entry.path)))
                  }
                />
              </Table.Th>
              {head("name", t("column.name"))}
              {head("size", t("column.size"), classes.number)}
              {head("modified", t("column.modified"), classes.wide)}
              <Table.Th scope="col" className={classes.widest}>
                {t("column.mode")}
              </Table.Th>
              <Table.Th scope="col" className={classes.more}>
                <span className="visually-hidden">{t("column.actions")}</span>
              </Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {shown.map((entry) => (
              <Table.Tr key={entry.path} bg={chosen.has(entry.path) ? "var(--mantine-primary-color-light)" : undefined}>
                <Table.Td className={classes.check}>
                  <Checkbox
                    aria-label={t("select", { name: entry.name })}
                    checked={chosen.has(entry.path)}
                    onChange={() => toggle(entry.path)}
                  />
                </Table.Td>
                <Table.Td>
                  <EntryName service={service} entry={entry} />
                </Table.Td>
                <Table.Td className={classes.number}>
                  {entry.size_bytes === null ? "" : bytes(entry.size_bytes)}
                </Table.Td>
                <Table.Td className={classes.wide}>
                  <When time={entry.modified_at} />
                </Table.Td>
                <Table.Td className={classes.widest}>
                  {hasPermissions(entry) ? (
                    <Anchor
                      component="button"
                      type="button"
                      size="sm"
                      className={classes.mode}
                      aria-label={t("permissions.of", { name: entry.name, mode: entry.mode })}
                      onClick={() => onTask({ kind: "permissions", entries: [entry] })}
                    >
                      {entry.mode}
                    </Anchor>
                  ) : (
                    <Text span size="sm" className={classes.mode}>
                      {entry.mode}
                    </Text>
                  )}
                </Table.Td>
                <Table.Td className={classes.more}>
                  <EntryMenu service={service} entry={entry} onTask={onTask} />
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Paper>
      <Group justify="space-between" mt="sm">
        <Text size="sm" c="dimmed">
          {t("count", { count: total, shown: number(total) })}
        </Text>
        <Pager
          meta={{ page: here, last_page: lastPage }}
          onChange={(next) => onView({ ...view, page: next === 1 ? undefined : next })}
        />
      </Group>
    </>
  );
}

/** What can be done with everything that is selected. */
function Selection({
  service,
  entries,
  onTask,
  onClear,
}: {
  service: number;
  entries: Entry[];
  onTask: (task: Task) => void;
  onClear: () => void;
}) {
  const fixed = entries.some((entry) => isProtected(entry.path));
  const [only] = entries;
  return (
    <Paper withBorder p="xs" mb="sm" className={classes.selection} role="region" aria-label={t("selection")}>
      <Group gap="xs">
        <Text size="sm" fw={600} role="status">
          {t("selected", { count: entries.length })}
        </Text>
        {entries.length === 1 && only && (
          <Button size="compact-sm" variant="default" component="a" href={downloadOf(service, only.path)} download>
            {t("download")}
          </Button>
        )}
        <Button size="compact-sm" variant="default" onClick={() => onTask({ kind: "pack", entries })}>
          {t("pack")}
        </Button>
        <Button size="compact-sm" variant="default" onClick={() => onTask({ kind: "copy", entries })}>
          {t("copy")}
        </Button>
        <Button size="compact-sm" variant="default" disabled={fixed} onClick={() => onTask({ kind: "move", entries })}>
          {t("move")}
        </Button>
        <Button
          size="compact-sm"
          variant="default"
          disabled={!entries.every(hasPermissions)}
          onClick={() => onTask({ kind: "permissions", entries })}
        >
          {t("permissions")}
        </Button>
        <Button
          size="compact-sm"
          variant="light"
          color="red"
          disabled={fixed}
          onClick={() => onTask({ kind: "delete", entries })}
        >
          {t("delete")}
        </Button>
        <Button size="compact-sm" variant="subtle" color="gray" onClick={onClear}>
          {t("select.none")}
        </Button>
      </Group>
      {fixed && (
        <Text size="xs" c="dimmed" mt={4}>
          {t("protected")}
        </Text>
      )}
    </Paper>
  );
}

function EntryMenu({ service, entry, onTask }: { service: number; entry: Entry; onTask: (task: Task) => void }) {
  const fixed = isProtected(entry.path);
  const entries = [entry];
  return (
    <Menu position="bottom-end" withinPortal>
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" aria-label={t("actions", { name: entry.name })}>
          <IconDots size={18} aria-hidden />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {entry.type === "file" && isArchive(entry.name) && (
          <Menu.Item onClick={() => onTask({ kind: "extract", entry })}>{t("extract")}</Menu.Item>
        )}
        {(entry.type === "file" || entry.type === "directory") && (
          <Menu.Item component="a" href={downloadOf(service, entry.path)} download>
            {t(entry.type === "directory" ? "download.zip" : "download")}
          </Menu.Item>
        )}
        {!fixed && <Menu.Item onClick={() => onTask({ kind: "rename", entry })}>{t("rename")}</Menu.Item>}
        {!fixed && <Menu.Item onClick={() => onTask({ kind: "move", entries })}>{t("move")}</Menu.Item>}
        <Menu.Item onClick={() => onTask({ kind: "copy", entries })}>{t("copy")}</Menu.Item>
        <Menu.Item onClick={() => onTask({ kind: "pack", entries })}>{t("pack")}</Menu.Item>
        {hasPermissions(entry) && (
          <Menu.Item onClick={() => onTask({ kind: "permissions", entries })}>{t("permissions")}</Menu.Item>
        )}
        <Menu.Item
          renderRoot={(props) => (
            <Link
              to="/services/$service/backups"
              params={{ service: String(service) }}
              search={{ path: entry.path }}
              {...props}
            />
          )}
        >
          {t("earlier")}
        </Menu.Item>
        {fixed ? (
          <Menu.Label className={classes.note}>{t("protected")}</Menu.Label>
        ) : (
          <>
            <Menu.Divider />
            <Menu.Item color="red" onClick={() => onTask({ kind: "delete", entries })}>
              {t("delete")}
            </Menu.Item>
          </>
        )}
      </Menu.Dropdown>
    </Menu>
  );
}
