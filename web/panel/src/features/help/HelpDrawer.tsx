import {
  Anchor,
  Button,
  Card,
  Divider,
  Drawer,
  Group,
  List,
  Loader,
  Stack,
  Text,
  TextInput,
  Title,
} from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { IconLifebuoy, IconSearch } from "@tabler/icons-react";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { useEffect, useRef, useState, type FormEvent } from "react";

import { boot, isOn } from "~/app/boot";
import { inLang } from "~/i18n/formats";
import { useAction } from "~/ui/action";
import { ErrorNote } from "~/ui/ErrorNote";
import { done } from "~/ui/notice";
import { PlainText } from "~/ui/PlainText";
import { TicketForm, type Draft } from "~/ui/ticket/TicketForm";

import { articleAddress, articles, ask, conversation, handover, type Message } from "./api";
import { t } from "./texts";

/** Help on each page: articles while one types, the assistant, and people. */
export function HelpDrawer({ question, service }: { question: string; service?: string }) {
  const [opened, setOpened] = useState(true);
  const [draft, setDraft] = useState<Draft | null>(null);
  const router = useRouter();
  const queries = useQueryClient();
  const close = () => setOpened(false);
  const about = Number(service) || undefined;
  return (
    <Drawer
      opened={opened}
      onClose={close}
      position="right"
      size="md"
      title={t(draft ? "ticket" : "title")}
      closeButtonProps={{ "aria-label": t("close") }}
    >
      {draft ? (
        <Stack>
          {draft.message && <Text c="dimmed">{t("ticket.text")}</Text>}
          <TicketForm
            draft={draft}
            onLeave={close}
            actions={
              <Button variant="default" onClick={() => setDraft(null)}>
                {t("back")}
              </Button>
            }
            onDone={async (made) => {
              close();
              await queries.invalidateQueries({ queryKey: ["tickets"] });
              done(t("ticket.done"));
              router.history.push(`${boot.base}/support/${made.id}`);
            }}
          />
        </Stack>
      ) : (
        <Questions first={question} onLeave={close} onTicket={(made) => setDraft({ service: about, ...made })} />
      )}
    </Drawer>
  );
}

function Questions({
  first,
  onLeave,
  onTicket,
}: {
  first: string;
  onLeave: () => void;
  onTicket: (draft: Draft) => void;
}) {
  const assistant = isOn("ai");
  const [text, setText] = useState("");
  const [sent, setSent] = useState("");
  const [sought] = useDebouncedValue(text.trim(), 250);
  const queries = useQueryClient();
  const { data: found } = useQuery({ ...articles(sought), enabled: isOn("content") });
  const { data: talk } = useQuery({ ...conversation(), enabled: assistant });
  const [send, { busy, error }] = useAction(async (message: string) => {
    setSent(message);
    setText("");
    try {
      await ask(message);
      // A first read that is still on its way may have begun before the question.
      await queries.cancelQueries({ queryKey: ["assistant"] });
      await queries.invalidateQueries({ queryKey: ["assistant"] });
    } catch (failure) {
      setText(message);
      throw failure;
    } finally {
      setSent("");
    }
  });
  const [draft, drafting] = useAction(async () => onTicket(await handover()));
  const begun = useRef(false);
  useEffect(() => {
    if (!first || !assistant || begun.current) return;
    begun.current = true;
    void send(first);
  });
  // What was said while this is open goes along to people.
  const [talked, setTalked] = useState(first !== "" && assistant);
  const end = useRef<HTMLDivElement>(null);
  const messages = talk?.messages.slice(-20) ?? [];
  const latest = messages.at(-1);
  useEffect(() => {
    if (begun.current) end.current?.scrollIntoView({ block: "nearest" });
  }, [latest?.id, busy]);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const message = text.trim();
    if (!message || busy || !assistant) return;
    begun.current = true;
    setTalked(true);
    void send(message);
  };
  return (
    <Stack>
      <form onSubmit={submit}>
        <TextInput
          label={t("question")}
          description={assistant ? t("question.hint") : undefined}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
          maxLength={assistant ? 2000 : 200}
          leftSection={<IconSearch size={16} aria-hidden />}
          autoComplete="off"
          data-autofocus
        />
        {assistant && (
          <Group justify="flex-end" mt="xs">
            <Button type="submit" size="compact-sm" loading={busy} disabled={!text.trim()}>
              {t("ask")}
            </Button>
          </Group>
        )}
      </form>
      <ErrorNote error={error ?? drafting.error} />
      {found && found.data.length > 0 && (
        <section aria-label={t("group.articles")}>
          <Title order={2} size="h5" mb={4}>
            {t("group.articles")}
          </Title>
          <List listStyleType="none" spacing={6}>
            {found.data.map((one) => (
              <List.Item key={one.slug}>
                <Anchor href={articleAddress(one.slug)} target="_blank" rel="noreferrer">
                  {inLang(one.title)}
                </Anchor>
                <Text size="xs" c="dimmed" lineClamp={2}>
                  {inLang(one.description)}
                </Text>
              </List.Item>
            ))}
          </List>
        </section>
      )}
      {assistant && (messages.length > 0 || busy) && (
        <section aria-label={t("conversation")}>
          <Divider mb="sm" />
          <Title order={2} size="h5" mb="xs">
            {t("conversation")}
          </Title>
          <Stack gap="sm" role="log">
            {messages.map((message) => (
              <One key={message.id} message={message} onLeave={onLeave} />
            ))}
            {sent && (
              <Card withBorder padding="sm">
                <PlainText text={sent} />
              </Card>
            )}
          </Stack>
          {busy && (
            <Group gap="xs" role="status" mt="sm">
              <Loader size="xs" />
              <Text size="sm">{t("thinking")}</Text>
            </Group>
          )}
          <div ref={end} />
        </section>
      )}
      {isOn("account") && (
        <>
          <Divider />
          <Group justify="space-between" gap="xs">
            <Text size="sm" flex={1} miw={160}>
              {t(latest?.handover ? "people.after" : "people")}
            </Text>
            <Button
              variant={latest?.handover ? "filled" : "default"}
              leftSection={<IconLifebuoy size={16} aria-hidden />}
              loading={drafting.busy}
              disabled={busy}
              onClick={() => (talked || latest?.handover ? void draft() : onTicket({ subject: text.trim() }))}
            >
              {t("support")}
            </Button>
          </Group>
        </>
      )}
    </Stack>
  );
}

function One({ message, onLeave }: { message: Message; onLeave: () => void }) {
  const router = useRouter();
  return (
    <Card withBorder padding="sm" bg={message.role === "assistant" ? "var(--mantine-primary-color-light)" : undefined}>
      <Text size="sm" fw={600}>
        {t(message.role === "assistant" ? "assistant" : "you")}
      </Text>
      <PlainText text={message.content} />
      {message.sources.length > 0 && (
        <List size="sm" type="ordered" mt="xs" aria-label={t("sources")}>
          {message.sources.map((source, at) => {
            const path = new URL(source.url, location.href).pathname;
            const inside = path.startsWith(boot.base + "/");
            return (
              <List.Item key={at}>
                {inside ? (
                  <Anchor
                    href={path}
                    onClick={(event) => {
                      event.preventDefault();
                      onLeave();
                      router.history.push(path);
                    }}
                  >
                    {source.title}
                  </Anchor>
                ) : (
                  <Anchor href={source.url} target="_blank" rel="noreferrer">
                    {source.title}
                  </Anchor>
                )}
              </List.Item>
            );
          })}
        </List>
      )}
    </Card>
  );
}
