import { Alert, Anchor, Button, Card, Group, Stack, Text, Textarea } from "@mantine/core";
import { useForm } from "@mantine/form";
import { IconDownload } from "@tabler/icons-react";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { boot } from "~/app/boot";
import { bytes } from "~/i18n/formats";
import { useAction } from "~/ui/action";
import { AnchorLink } from "~/ui/AnchorLink";
import { drafts } from "~/ui/drafts";
import { ErrorNote } from "~/ui/ErrorNote";
import { useSubmit } from "~/ui/form";
import { LeaveGuard } from "~/ui/LeaveGuard";
import { Load } from "~/ui/Load";
import { done } from "~/ui/notice";
import { PageHeader } from "~/ui/PageHeader";
import { PlainText } from "~/ui/PlainText";
import { serviceOf, writeMessage } from "~/ui/ticket/api";
import { Attachments } from "~/ui/ticket/Attachments";
import { filesProblem } from "~/ui/ticket/files";
import { undoable } from "~/ui/undoable";
import { When } from "~/ui/When";

import { attachment, closeTicket, reopenTicket, ticket, type Message } from "./api";
import { TicketStatus } from "./status";
import { t } from "./texts";

/** A ticket: what its customer and staff have written, and the next message. */
export function TicketPage({ id }: { id: number }) {
  const query = useQuery(ticket(id));
  const queries = useQueryClient();
  const changed = () =>
    Promise.all([
      queries.invalidateQueries({ queryKey: ["ticket", id] }),
      queries.invalidateQueries({ queryKey: ["tickets"] }),
    ]);
  const reopen = async () => {
    await reopenTicket(id);
    await changed();
  };
  const [close, closing] = useAction(async () => {
    await closeTicket(id);
    await changed();
    undoable(t("closed"), reopen);
  });
  const [open, opening] = useAction(reopen);
  return (
    <Load query={query}>
      {(data) => (
        <>
          <PageHeader
            title={data.subject}
            aside={<TicketStatus status={data.status} />}
            description={
              <>
                {t("ticket", { number: data.id })}
                {data.service_id !== null && <About service={data.service_id} />}
              </>
            }
            actions={
              data.status === "closed" ? (
                <Button variant="default" loading={opening.busy} onClick={() => void open()}>
                  {t("reopen")}
                </Button>
              ) : (
                <Button variant="default" loading={closing.busy} onClick={() => void close()}>
                  {t("close")}
                </Button>
              )
            }
          />
          <Stack>
            <ErrorNote error={closing.error ?? opening.error} />
            <Stack component="ol" p={0} m={0} style={{ listStyle: "none" }} aria-label={t("messages")}>
              {data.messages.map((message) => (
                <Card
                  withBorder
                  component="li"
                  key={message.id}
                  bg={message.staff ? "var(--mantine-primary-color-light)" : undefined}
                >
                  <One ticket={id} message={message} />
                </Card>
              ))}
            </Stack>
            {data.status === "closed" && <Alert color="blue" title={t("closed.note")} />}
            <Answer key={id} id={id} onDone={changed} />
          </Stack>
        </>
      )}
    </Load>
  );
}

function About({ service }: { service: number }) {
  const { data } = useQuery(serviceOf(service));
  return (
    data && (
      <>
        {" · "}
        <AnchorLink to="/services/$service" params={{ service: String(service) }}>
          {data.unicode_domain ?? data.label}
        </AnchorLink>
      </>
    )
  );
}

function One({ ticket: id, message }: { ticket: number; message: Message }) {
  return (
    <Stack gap="xs">
      <Group gap="xs">
        <Text fw={600}>{message.staff ? boot.company : t("you")}</Text>
        <Text size="sm" c="dimmed" component="span">
          <When time={message.created_at} />
          {message.via === "mail" && ` · ${t("by_mail")}`}
        </Text>
      </Group>
      <PlainText text={message.body} />
      {message.attachments.length > 0 && (
        <Group gap="md" component="ul" p={0} m={0} style={{ listStyle: "none" }} aria-label={t("attachments")}>
          {message.attachments.map((file) => (
            <li key={file.id}>
              <Anchor href={attachment(id, file.id)} download={file.name} size="sm">
                <IconDownload size={14} aria-hidden /> {file.name} ({bytes(file.size)})
              </Anchor>
            </li>
          ))}
        </Group>
      )}
    </Stack>
  );
}

function Answer({ id, onDone }: { id: number; onDone: () => Promise<unknown> }) {
  const key = `answer/${id}/`;
  const [draft] = useState(() => drafts.get<{ message: string; files: File[] }>(key));
  const [files, setFiles] = useState(draft?.files ?? []);
  const [share, setShare] = useState<number | null>(null);
  const form = useForm({
    mode: "uncontrolled",
    initialValues: { message: draft?.message ?? "" },
    onValuesChange: ({ message }) => keep(message, files),
    validate: { message: (value) => (value.trim() ? null : t("answer.empty")) },
  });
  const keep = (message: string, files: File[]) =>
    drafts.keep(key, message.trim() || files.length > 0 ? { message, files } : null);
  const { submit, error } = useSubmit(form, async ({ message }) => {
    if (filesProblem(files)) return;
    setShare(0);
    try {
      await writeMessage(id, message, files, setShare);
    } finally {
      setShare(null);
    }
    form.setInitialValues({ message: "" });
    form.reset();
    setFiles([]);
    drafts.keep(key, null);
    await onDone();
    done(t("answer.done"));
  });
  return (
    <form onSubmit={submit} noValidate>
      <LeaveGuard of={key} />
      <Attachments
        files={files}
        onChange={(chosen) => {
          setFiles(chosen);
          keep(form.getValues().message, chosen);
        }}
        share={share}
      >
        <Textarea
          label={t("answer")}
          autosize
          minRows={4}
          maxRows={16}
          maxLength={20_000}
          readOnly={share !== null} // what is typed after the message has gone would be lost with it
          key={form.key("message")}
          {...form.getInputProps("message")}
        />
      </Attachments>
      <Stack mt="sm">
        <ErrorNote error={error} />
        <Group justify="flex-end">
          <Button type="submit" loading={share !== null} disabled={filesProblem(files) !== null}>
            {t("answer.send")}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
