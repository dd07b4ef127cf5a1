import { Anchor, Button, Card, Checkbox, FileInput, Group, NativeSelect, Stack, Text, Textarea } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";

import { bytes } from "~/i18n/formats";
import { useAction } from "~/ui/action";
import { drafts } from "~/ui/drafts";
import { ErrorNote } from "~/ui/ErrorNote";
import { LeaveGuard } from "~/ui/LeaveGuard";
import { failed } from "~/ui/notice";
import { PageHeader } from "~/ui/PageHeader";
import { PageLoad } from "~/ui/PageLoad";
import { SectionCard } from "~/ui/SectionCard";
import { type StaffPage } from "~/ui/staff/page";
import { StaffLink } from "~/ui/staff/StaffLink";
import { colleagues, useCan } from "~/ui/staff/api";
import { useChanged } from "~/ui/staff/changed";
import { CustomerLink } from "~/ui/staff/CustomerLink";
import { Facts, type Fact } from "~/ui/staff/Facts";
import { Colleague, ticketStatuses, TicketState } from "~/ui/staff/lists";
import { t as shared } from "~/ui/staff/texts";
import { When } from "~/ui/When";

import { answer, attachment, canned, change, ticket, type Message, type Status, type Thread } from "./api";
import { encode, fits } from "./files";
import { t } from "./texts";

const statuses = Object.keys(ticketStatuses) as Status[];
const statusOptions = () => statuses.map((one) => ({ value: one, label: shared(`ticket.${one}`) }));

export function TicketPage({ id: key }: StaffPage) {
  const id = Number(key);
  const query = useQuery(ticket(id));
  const can = useCan();
  return (
    <PageLoad query={query}>
      {(data) => (
        <>
          <PageHeader title={data.subject} aside={<TicketState status={data.status} />} />
          <Stack gap="lg">
            <Head data={data} />
            <Stack component="section" aria-label={t("thread")}>
              {data.messages.map((message) => (
                <Post key={message.id} ticket={id} message={message} />
              ))}
            </Stack>
            {can("staff.tickets.answer") && <AnswerForm key={id} id={id} />}
          </Stack>
        </>
      )}
    </PageLoad>
  );
}

function Head({ data }: { data: Thread }) {
  const can = useCan();
  const changed = useChanged();
  const people = useQuery(colleagues).data?.data ?? [];
  const save = async (body: Parameters<typeof change>[1]) => {
    try {
      await change(data.id, body);
      await changed(t("changed.done"));
    } catch (failure) {
      failed(failure);
    }
  };
  const facts: Fact[] = [
    [t("customer"), <CustomerLink key="customer" id={data.account_id} />],
    [t("began"), <When key="began" time={data.created_at} />],
  ];
  if (data.service_id)
    facts.push([
      t("service"),
      <StaffLink key="service" to={`services/${data.service_id}`}>
        #{data.service_id}
      </StaffLink>,
    ]);
  const mayChange = can("staff.tickets.change");
  if (!mayChange) facts.push([t("assignee"), <Colleague key="assignee" id={data.assignee_id} />]);
  return (
    <Card withBorder maw={560}>
      <Stack>
        <Facts facts={facts} />
        {mayChange && (
          <Group grow>
            <NativeSelect
              label={t("status")}
              data={statusOptions()}
              value={data.status}
              onChange={(event) => void save({ status: event.currentTarget.value as Status })}
            />
            <NativeSelect
              label={t("assignee")}
              data={[
                { value: "0", label: t("nobody") },
                ...people.map((one) => ({ value: String(one.id), label: one.name || one.email })),
              ]}
              value={String(data.assignee_id ?? 0)}
              onChange={(event) => void save({ assignee_id: Number(event.currentTarget.value) })}
            />
          </Group>
        )}
      </Stack>
    </Card>
  );
}

function Post({ ticket: id, message }: { ticket: number; message: Message }) {
  return (
    <Card withBorder component="article" bg={message.internal ? "var(--mantine-color-yellow-light)" : undefined}>
      <Group justify="space-between" mb="xs">
        <Text fw={600}>
          {message.staff ? <Colleague id={message.author_id} /> : t("from.customer")}
          {message.internal && ` · ${t("from.note")}`}
          {message.via === "mail" && ` · ${t("from.mail")}`}
        </Text>
        <Text size="sm">
          <When time={message.created_at} />
        </Text>
      </Group>
      <Text style={{ whiteSpace: "pre-wrap" }}>{message.body}</Text>
      {message.attachments.length > 0 && (
        <Group mt="sm">
          {message.attachments.map((file) => (
            <Anchor
              key={file.id}
              href={attachment(id, file.id)}
              download={file.name}
              aria-label={t("attachment", { name: file.name })}
            >
              {file.name} ({bytes(file.size)})
            </Anchor>
          ))}
        </Group>
      )}
    </Card>
  );
}

function AnswerForm({ id }: { id: number }) {
  const changed = useChanged();
  const ready = useQuery(canned).data?.data ?? [];
  const key = `staff answer/${id}/`;
  const [draft] = useState(() => drafts.get<{ text: string; internal: boolean; files: File[] }>(key));
  const [text, setText] = useState(draft?.text ?? "");
  const [internal, setInternal] = useState(draft?.internal ?? false);
  const [status, setStatus] = useState<Status>("answered");
  const [files, setFiles] = useState(draft?.files ?? []);
  const [tried, setTried] = useState(false);
  const [send, { busy, error }] = useAction(async () => {
    await answer(id, {
      message: text.trim(),
      internal,
      status: internal ? undefined : status,
      attachments: await Promise.all(files.map(encode)),
    });
    setText("");
    setFiles([]);
    setTried(false);
    await changed(t(internal ? "noted" : "sent"));
  });
  const empty = text.trim() === "";
  useEffect(() => {
    drafts.keep(key, empty && files.length === 0 ? null : { text, internal, files });
  }, [key, empty, text, internal, files]);
  return (
    <SectionCard id="answer" title={t(internal ? "note" : "answer")}>
      <form
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          setTried(true);
          if (!empty && fits(files)) void send();
        }}
      >
        <LeaveGuard of={key} />
        <Stack>
          {ready.length > 0 && (
            <NativeSelect
              label={t("canned")}
              data={[
                { value: "", label: t("canned.choose") },
                ...ready.map((one) => ({ value: String(one.id), label: one.title })),
              ]}
              value=""
              disabled={busy}
              onChange={(event) => {
                const chosen = ready.find((one) => String(one.id) === event.currentTarget.value);
                if (chosen) setText((before) => (before.trim() ? `${before.trimEnd()}\n\n` : "") + chosen.body);
              }}
              maw={360}
            />
          )}
          <Textarea
            label={t(internal ? "note" : "answer")}
            description={t(internal ? "note.hint" : "answer.hint")}
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
            autosize
            minRows={5}
            maxLength={20_000}
            readOnly={busy}
            required
            error={tried && empty ? t("empty") : undefined}
          />
          <Checkbox
            label={t("internal")}
            checked={internal}
            onChange={(event) => setInternal(event.currentTarget.checked)}
          />
          <FileInput
            label={t("files")}
            description={t("files.hint")}
            multiple
            clearable
            disabled={busy}
            value={files}
            onChange={setFiles}
            error={fits(files) ? undefined : t("files.wrong")}
          />
          {!internal && (
            <NativeSelect
              label={t("next")}
              data={statusOptions()}
              value={status}
              onChange={(event) => setStatus(event.currentTarget.value as Status)}
              maw={360}
            />
          )}
          <ErrorNote error={error} />
          <Group justify="flex-end">
            <Button type="submit" loading={busy}>
              {t(internal ? "send.note" : "send")}
            </Button>
          </Group>
        </Stack>
      </form>
    </SectionCard>
  );
}
