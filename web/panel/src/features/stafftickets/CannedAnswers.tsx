import { Button, Group, Modal, Stack, Text, Textarea, TextInput } from "@mantine/core";
import { IconMessages, IconTrash } from "@tabler/icons-react";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { useAction } from "~/ui/action";
import { Confirm } from "~/ui/Confirm";
import { DataTable } from "~/ui/DataTable";
import { Empty } from "~/ui/Empty";
import { ErrorNote } from "~/ui/ErrorNote";
import { Load } from "~/ui/Load";
import { done } from "~/ui/notice";
import { PageHeader } from "~/ui/PageHeader";
import { useCan } from "~/ui/staff/api";
import { t as shared } from "~/ui/staff/texts";

import { canned, removeCanned, saveCanned, type Canned } from "./api";
import { t } from "./texts";

type Draft = Pick<Canned, "title" | "body"> & { isNew: boolean };

export function CannedAnswers() {
  const query = useQuery(canned);
  const queries = useQueryClient();
  const can = useCan();
  const [draft, setDraft] = useState<Draft | null>(null);
  const changed = async (message: string) => {
    await queries.invalidateQueries({ queryKey: ["staff", "canned"] });
    done(message);
  };
  const add = can("staff.tickets.save_canned") && (
    <Button onClick={() => setDraft({ title: "", body: "", isNew: true })}>{t("canned.new")}</Button>
  );
  return (
    <>
      <PageHeader title={t("canned.title")} description={t("canned.description")} actions={add} />
      <Load query={query}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty icon={IconMessages} title={t("canned.none")} action={add} />
          ) : (
            <DataTable
              caption={t("canned.title")}
              rows={data}
              rowKey={(row) => row.id}
              columns={[
                { key: "title", label: t("canned.name"), render: (row) => row.title },
                { key: "body", label: t("canned.body"), render: (row) => <Text lineClamp={3}>{row.body}</Text> },
                {
                  key: "actions",
                  label: shared("column.actions"),
                  actions: true,
                  render: (row) => (
                    <>
                      {can("staff.tickets.save_canned") && (
                        <Button size="compact-sm" variant="light" onClick={() => setDraft({ ...row, isNew: false })}>
                          {t("canned.edit", { title: row.title })}
                        </Button>
                      )}
                      {can("staff.tickets.remove_canned") && (
                        <Confirm
                          label={t("canned.remove", { title: row.title })}
                          title={t("canned.remove", { title: row.title })}
                          text={t("canned.remove.text")}
                          icon={<IconTrash size={16} aria-hidden />}
                          size="compact-sm"
                          action={async () => {
                            await removeCanned(row.id);
                            await changed(t("canned.removed"));
                          }}
                        />
                      )}
                    </>
                  ),
                },
              ]}
            />
          )
        }
      </Load>
      <Modal opened={draft !== null} onClose={() => setDraft(null)} title={draft?.title || t("canned.new")}>
        {draft && (
          <CannedForm
            draft={draft}
            onDone={async () => {
              setDraft(null);
              await changed(t("canned.saved"));
            }}
          />
        )}
      </Modal>
    </>
  );
}

function CannedForm({ draft, onDone }: { draft: Draft; onDone: () => Promise<void> }) {
  const [title, setTitle] = useState(draft.title);
  const [body, setBody] = useState(draft.body);
  const [save, { busy, error }] = useAction(async () => {
    await saveCanned(title.trim(), body.trim());
    await onDone();
  });
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      <Stack>
        <TextInput
          label={t("canned.name")}
          value={title}
          onChange={(event) => setTitle(event.currentTarget.value)}
          maxLength={150}
          required
          readOnly={!draft.isNew}
          data-autofocus={draft.isNew || undefined}
        />
        <Textarea
          label={t("canned.body")}
          value={body}
          onChange={(event) => setBody(event.currentTarget.value)}
          autosize
          minRows={5}
          maxLength={20_000}
          required
        />
        <ErrorNote error={error} />
        <Group justify="flex-end">
          <Button type="submit" loading={busy}>
            {t("canned.save")}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
