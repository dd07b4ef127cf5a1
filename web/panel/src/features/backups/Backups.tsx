import { Alert, Anchor, Button, Checkbox, Group, Modal, Radio, Stack, Text, Textarea, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconArchive, IconDownload, IconRestore } from "@tabler/icons-react";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { megabytes, number } from "~/i18n/formats";
import { useAction } from "~/ui/action";
import { AnchorLink } from "~/ui/AnchorLink";
import { DataTable } from "~/ui/DataTable";
import { Empty } from "~/ui/Empty";
import { ErrorNote } from "~/ui/ErrorNote";
import { Load } from "~/ui/Load";
import { done } from "~/ui/notice";
import { PageHeader } from "~/ui/PageHeader";
import { Pager } from "~/ui/Pager";
import { Status, type Tone } from "~/ui/Status";
import { When } from "~/ui/When";

import { backups, databaseNames, downloadOf, isBusy, makeBackup, restoreBackup, type Backup, type Part } from "./api";
import { t } from "./texts";
import { bodyOf, wishProblem, type Wish } from "./validate";

const allParts: Part[] = ["files", "databases", "mail", "dns", "cron"];

const tones: Record<Backup["status"], Tone> = {
  queued: "busy",
  running: "busy",
  completed: "good",
  failed: "bad",
  restoring: "busy",
  deleted: "neutral",
};

/** The backups of a service. With `path` the person came to bring an earlier version of it back. */
export function Backups({
  service,
  page,
  path,
  onPage,
}: {
  service: number;
  page: number;
  path?: string;
  onPage: (page: number) => void;
}) {
  const query = useQuery(backups(service, page));
  const queries = useQueryClient();
  const [making, { open, close }] = useDisclosure();
  const [restoring, setRestoring] = useState<Backup | null>(null);
  const changed = () => queries.invalidateQueries({ queryKey: ["service", service, "backups"] });
  const busy = query.data?.data.some(isBusy) ?? false;
  const add = (
    <Button onClick={open} disabled={busy}>
      {t("make")}
    </Button>
  );
  return (
    <>
      <PageHeader title={t("title")} description={t("description")} actions={add} />
      {path && (
        <Alert color="blue" mb="md" title={t("earlier", { path })}>
          {t("earlier.text")}
        </Alert>
      )}
      <Load query={query}>
        {({ data, meta }) =>
          data.length === 0 ? (
            <Empty icon={IconArchive} title={t("empty.title")} text={t("empty.text")} action={add} />
          ) : (
            <>
              <DataTable
                caption={t("title")}
                rows={data}
                rowKey={(row) => row.id}
                columns={[
                  {
                    key: "made",
                    label: t("column.made"),
                    render: (row) => (
                      <>
                        <When time={row.created_at} />
                        <Text size="sm" c="dimmed">
                          {row.note ?? t(`kind.${row.kind}`)}
                        </Text>
                      </>
                    ),
                  },
                  { key: "parts", label: t("column.parts"), render: (row) => <Parts backup={row} /> },
                  {
                    key: "size",
                    label: t("column.size"),
                    right: true,
                    render: (row) => (row.status === "completed" || row.restore ? megabytes(row.size_mb) : "–"),
                  },
                  {
                    key: "status",
                    label: t("column.status"),
                    render: (row) => <State service={service} backup={row} />,
                  },
                  {
                    key: "kept",
                    label: t("column.kept"),
                    render: (row) => (row.expires_at ? <When time={row.expires_at} form="day" /> : "–"),
                  },
                  {
                    key: "actions",
                    label: t("column.actions"),
                    actions: true,
                    render: (row) =>
                      row.downloadable && (
                        <>
                          <Button
                            size="compact-sm"
                            variant="light"
                            leftSection={<IconRestore size={16} aria-hidden />}
                            disabled={busy}
                            onClick={() => setRestoring(row)}
                          >
                            {t("restore")}
                          </Button>
                          <Button
                            size="compact-sm"
                            variant="default"
                            component="a"
                            href={downloadOf(service, row.id)}
                            download
                            aria-label={t("download")}
                          >
                            <IconDownload size={16} aria-hidden />
                          </Button>
                        </>
                      ),
                  },
                ]}
              />
              <Pager meta={meta} onChange={onPage} />
            </>
          )
        }
      </Load>
      <Text size="sm" c="dimmed" mt="md">
        {t("daily")}
      </Text>
      <Modal opened={making} onClose={close} title={t("make")}>
        <MakeForm
          service={service}
          onDone={async () => {
            close();
            await changed();
            done(t("made"));
          }}
        />
      </Modal>
      <Modal opened={restoring !== null} onClose={() => setRestoring(null)} title={t("restore.title")} size="lg">
        {restoring && (
          <RestoreForm
            service={service}
            backup={restoring}
            path={path}
            onDone={async () => {
              setRestoring(null);
              await changed();
              done(t("restore.begun"));
            }}
          />
        )}
      </Modal>
    </>
  );
}

function Parts({ backup }: { backup: Backup }) {
  const making = isBusy(backup) && !backup.restore;
  const shown = backup.parts.filter((part) => making || part.count > 0);
  return (
    <Stack gap={0}>
      {shown.map(({ part, status, size_mb, count }) => (
        <Text key={part} size="sm">
          {making
            ? t("part.state", { part: t(`part.${part}`), state: t(`part_status.${status}`) })
            : t("part.size", { part: t(`part.${part}`), count: number(count), size: megabytes(size_mb) })}
        </Text>
      ))}
      {shown.length === 0 && "–"}
    </Stack>
  );
}

function State({ service, backup }: { service: number; backup: Backup }) {
  const { restore } = backup;
  return (
    <Stack gap={4} align="flex-start" role={isBusy(backup) ? "status" : undefined}>
      <Status tone={tones[backup.status]} label={t(`status.${backup.status}`)} />
      {backup.error_key && (
        <Text size="sm" c="dimmed">
          {t("failed.text")}
        </Text>
      )}
      {restore && (
        <Text size="sm" c="dimmed">
          {t(`restore_status.${restore.status}`)}{" "}
          {restore.finished_at && <When time={restore.finished_at} form="relative" />}
        </Text>
      )}
      {restore?.status === "completed" && restore.parts.includes("files") && (
        <AnchorLink size="sm" to="/services/$service/files/$" params={{ service: String(service), _splat: "" }}>
          {t("restore.look")}
        </AnchorLink>
      )}
    </Stack>
  );
}

function PartBoxes({ parts, value, onChange }: { parts: Part[]; value: Part[]; onChange: (parts: Part[]) => void }) {
  return (
    <Checkbox.Group label={t("field.parts")} value={value} onChange={(next) => onChange(next as Part[])}>
      <Stack gap="xs" mt="xs">
        {parts.map((part) => (
          <Checkbox key={part} value={part} label={t(`part.${part}`)} description={t(`part_what.${part}`)} />
        ))}
      </Stack>
    </Checkbox.Group>
  );
}

function MakeForm({ service, onDone }: { service: number; onDone: () => Promise<void> }) {
  const [parts, setParts] = useState<Part[]>(allParts);
  const [note, setNote] = useState("");
  const [submit, { busy, error }] = useAction(async () => {
    await makeBackup(service, parts, note.trim());
    await onDone();
  });
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <Stack>
        <PartBoxes parts={allParts} value={parts} onChange={setParts} />
        <TextInput
          label={t("field.note")}
          description={t("field.note_hint")}
          maxLength={200}
          value={note}
          onChange={(event) => setNote(event.currentTarget.value)}
        />
        <ErrorNote error={error} />
        <Group justify="flex-end">
          <Button type="submit" loading={busy} disabled={parts.length === 0}>
            {t("make")}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

/** Asks what of the backup comes back, and says what it replaces. */
function RestoreForm({
  service,
  backup,
  path,
  onDone,
}: {
  service: number;
  backup: Backup;
  path?: string;
  onDone: () => Promise<void>;
}) {
  const inIt = backup.parts.filter((part) => part.count > 0).map(({ part }) => part);
  const databases = useQuery({ ...databaseNames(service), enabled: inIt.includes("databases") });
  const [wish, setWish] = useState<Wish>({
    what: path || inIt.includes("files") ? "paths" : "all",
    paths: path ?? "",
    database: "",
    parts: [],
    beside: false,
    target: "/restored",
  });
  const [shown, setShown] = useState(false);
  const [restore, { busy, error }] = useAction(async () => {
    await restoreBackup(service, backup.id, bodyOf(wish));
    await onDone();
  });
  const change = (part: Partial<Wish>) => setWish({ ...wish, ...part });
  const problem = wishProblem(wish);
  const problemOf = (...names: (typeof problem)[]) => (shown && problem && names.includes(problem) ? t(problem) : null);
  const replaced = wish.what === "all" ? inIt : wish.what === "parts" ? wish.parts : [];
  const submit = async () => {
    setShown(true);
    if (!problem) void restore();
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
      noValidate
    >
      <Stack>
        <Text size="sm">
          {t("restore.of")} <When time={backup.created_at} />
        </Text>
        <Radio.Group
          label={t("restore.what")}
          value={wish.what}
          onChange={(what) => change({ what: what as Wish["what"] })}
        >
          <Stack gap="xs" mt="xs">
            {inIt.includes("files") && <Radio value="paths" label={t("restore.paths")} />}
            {inIt.includes("databases") && <Radio value="database" label={t("restore.database")} />}
            <Radio value="parts" label={t("restore.parts")} />
            <Radio value="all" label={t("restore.all")} />
          </Stack>
        </Radio.Group>
        {wish.what === "paths" && (
          <>
            <Textarea
              label={t("field.paths")}
              description={t("field.paths_hint")}
              autosize
              minRows={2}
              maxRows={8}
              ff="monospace"
              spellCheck={false}
              value={wish.paths}
              onChange={(event) => change({ paths: event.currentTarget.value })}
              error={problemOf("problem.paths", "problem.many")}
            />
            <Checkbox
              label={t("field.beside")}
              description={t("field.beside_hint")}
              checked={wish.beside}
              onChange={(event) => change({ beside: event.currentTarget.checked })}
            />
            {wish.beside && (
              <TextInput
                label={t("field.target")}
                value={wish.target}
                spellCheck={false}
                onChange={(event) => change({ target: event.currentTarget.value })}
                error={problemOf("problem.target")}
              />
            )}
          </>
        )}
        {wish.what === "database" && (
          <TextInput
            label={t("field.database")}
            list="backup-databases"
            value={wish.database}
            spellCheck={false}
            onChange={(event) => change({ database: event.currentTarget.value })}
            error={problemOf("problem.database")}
          />
        )}
        <datalist id="backup-databases">
          {databases.data?.data.map((database) => (
            <option key={database.id} value={database.name}>
              {database.name}
            </option>
          ))}
        </datalist>
        {wish.what === "parts" && (
          <>
            <PartBoxes parts={inIt} value={wish.parts} onChange={(parts) => change({ parts })} />
            {problemOf("problem.parts") && (
              <Text size="sm" role="alert">
                {problemOf("problem.parts")}
              </Text>
            )}
          </>
        )}
        <Alert color={wish.what === "paths" && wish.beside ? "blue" : "orange"} title={t("replace.title")}>
          <Stack gap="xs">
            {wish.what === "paths" && <Text size="sm">{t(wish.beside ? "replace.beside" : "replace.paths")}</Text>}
            {wish.what === "database" && <Text size="sm">{t("replace.databases")}</Text>}
            {replaced.map((part) => (
              <Text key={part} size="sm">
                {t(`replace.${part}`)}
              </Text>
            ))}
            <Text size="sm">{t("replace.copy")}</Text>
          </Stack>
        </Alert>
        <ErrorNote error={error} />
        <Group justify="space-between">
          <Anchor size="sm" href={downloadOf(service, backup.id)} download>
            {t("restore.instead")}
          </Anchor>
          <Button type="submit" color="red" loading={busy}>
            {t("restore")}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
