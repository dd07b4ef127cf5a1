import { Button, Group, Select, Stack, Textarea, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useDebouncedValue } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";

import { isOn } from "~/app/boot";
import { drafts } from "~/ui/drafts";
import { ErrorNote } from "~/ui/ErrorNote";
import { useSubmit } from "~/ui/form";
import { LeaveGuard } from "~/ui/LeaveGuard";

import { createTicket, serviceOf, servicesLike, type Ticket } from "./api";
import { Attachments } from "./Attachments";
import { filesProblem } from "./files";
import { t } from "./texts";

export interface Draft {
  subject?: string;
  message?: string;
  /** The service that it is about. */
  service?: number;
}

interface Values extends Record<string, unknown> {
  subject: string;
  message: string;
  service_id: string | null;
}

/** A question to the company's support, which its asker reads once more before it goes. */
export function TicketForm({
  draft,
  onDone,
  actions,
}: {
  draft: Draft;
  onDone: (ticket: Ticket) => void | Promise<void>;
  /** Beside the button that sends it. */
  actions?: ReactNode;
}) {
  const key = `ticket/${JSON.stringify(draft)}/`;
  const [typed] = useState(() => drafts.get<{ values: Values; files: File[] }>(key));
  const [files, setFiles] = useState(typed?.files ?? []);
  const [share, setShare] = useState<number | null>(null);
  const form = useForm<Values>({
    mode: "uncontrolled",
    initialValues: typed?.values ?? {
      subject: draft.subject ?? "",
      message: draft.message ?? "",
      service_id: draft.service ? String(draft.service) : null,
    },
    onValuesChange: (values) => keep(values, files),
    validate: {
      subject: (value) => (value.trim() ? null : t("subject.empty")),
      message: (value) => (value.trim() ? null : t("message.empty")),
    },
  });
  const keep = (values: Values, files: File[]) =>
    drafts.keep(key, values.subject.trim() || values.message.trim() || files.length > 0 ? { values, files } : null);
  const { submit, error } = useSubmit(form, async ({ subject, message, service_id }) => {
    if (filesProblem(files)) return;
    setShare(0);
    try {
      const about = service_id ? { service_id: Number(service_id) } : {};
      const made = await createTicket({ subject, message, ...about }, files, setShare);
      drafts.keep(key, null);
      await onDone(made);
    } finally {
      setShare(null);
    }
  });
  return (
    <form onSubmit={submit} noValidate>
      <LeaveGuard of={key} />
      <Stack>
        <TextInput
          label={t("subject")}
          description={t("subject.hint")}
          maxLength={150}
          readOnly={share !== null}
          autoComplete="off"
          data-autofocus
          key={form.key("subject")}
          {...form.getInputProps("subject")}
        />
        {isOn("services") && (
          <ServiceField chosen={draft.service} key={form.key("service_id")} {...form.getInputProps("service_id")} />
        )}
        <Attachments
          files={files}
          onChange={(chosen) => {
            setFiles(chosen);
            keep(form.getValues(), chosen);
          }}
          share={share}
        >
          <Textarea
            label={t("message")}
            description={t("message.hint")}
            autosize
            minRows={6}
            maxRows={20}
            maxLength={20_000}
            readOnly={share !== null}
            key={form.key("message")}
            {...form.getInputProps("message")}
          />
        </Attachments>
        <ErrorNote error={error} />
        <Group justify="flex-end">
          {actions}
          <Button type="submit" loading={share !== null} disabled={filesProblem(files) !== null}>
            {t("send")}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

/** The service that a question is about: chosen among a few, sought among many. */
function ServiceField({
  chosen,
  ...input
}: {
  chosen?: number;
  defaultValue?: string | null;
  onChange?: (value: string | null) => void;
  error?: ReactNode;
}) {
  const [search, setSearch] = useState("");
  const [sought] = useDebouncedValue(search, 250);
  const { data } = useQuery(servicesLike(sought));
  const { data: all } = useQuery(servicesLike(""));
  const { data: one, isPending } = useQuery({ ...serviceOf(chosen ?? 0), enabled: chosen !== undefined });
  if (!all || all.data.length === 0 || (chosen !== undefined && isPending)) return null;
  const rows = new Map([...all.data, ...(data?.data ?? []), ...(one ? [one] : [])].map((row) => [row.id, row]));
  return (
    <Select
      label={t("service")}
      placeholder={t("service.none")}
      clearable
      clearButtonProps={{ "aria-label": t("service.clear") }}
      searchable={all.meta.total > 8}
      onSearchChange={setSearch}
      nothingFoundMessage={t("service.nothing")}
      data={[...rows.values()].map((row) => ({ value: String(row.id), label: row.unicode_domain ?? row.label }))}
      {...input}
    />
  );
}
