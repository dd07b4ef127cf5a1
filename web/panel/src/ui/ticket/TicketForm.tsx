import { Button, Group, Stack, Textarea, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useState, type ReactNode } from "react";

import { isOn } from "~/app/boot";
import { drafts } from "~/ui/drafts";
import { ErrorNote } from "~/ui/ErrorNote";
import { useSubmit } from "~/ui/form";
import { LeaveGuard } from "~/ui/LeaveGuard";

import { createTicket, type Ticket } from "./api";
import { Attachments } from "./Attachments";
import { filesProblem } from "./files";
import { ServiceField } from "./ServiceField";
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
  onLeave,
  actions,
}: {
  draft: Draft;
  onDone: (ticket: Ticket) => void | Promise<void>;
  /** Closes a form that stands over the pages, when its page is left without it. */
  onLeave?: () => void;
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
      <LeaveGuard of={key} onLeave={onLeave} />
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
