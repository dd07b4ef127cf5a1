import {
  Button,
  Card,
  Code,
  Group,
  SegmentedControl,
  SimpleGrid,
  Stack,
  Text,
  Textarea,
  TextInput,
  Title,
} from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { languages, useLang } from "~/i18n/i18n";
import { useAction } from "~/ui/action";
import { Confirm } from "~/ui/Confirm";
import { ErrorNote } from "~/ui/ErrorNote";
import { Load } from "~/ui/Load";
import { done } from "~/ui/notice";
import { PageHeader } from "~/ui/PageHeader";
import { useCan } from "~/ui/staff/api";
import { useChanged } from "~/ui/staff/changed";
import { oneIn, type StaffPage } from "~/ui/staff/page";

import { changeMail, mail, resetMail, sendTestMail, type Mail, type MailLanguage } from "./api";
import { MailHTML } from "./MailHTML";
import { t } from "./texts";

const mailLanguages: MailLanguage[] = ["uz", "ru", "en"];

/** What a kind of mail says in a language: looked at, changed, and tried before it is live. */
export function MailPage({ id, search, onSearch }: StaffPage) {
  const own = useLang();
  const language = oneIn(search.language, mailLanguages) ?? own;
  const query = useQuery(mail(id, language));
  const [version, setVersion] = useState(0);
  return (
    <>
      <PageHeader title={t("mails.one")} description={<code>{id}</code>} />
      <SegmentedControl
        mb="md"
        aria-label={t("mails.language")}
        value={language}
        onChange={(next) => onSearch({ language: next })}
        data={mailLanguages.map((value) => ({ value, label: languages[value] }))}
      />
      <Load query={query}>
        {(data) => (
          <Editor
            key={`${language} ${version}`}
            data={data}
            language={language}
            saved={() => setVersion((before) => before + 1)}
          />
        )}
      </Load>
    </>
  );
}

function Editor({ data, language, saved }: { data: Mail; language: MailLanguage; saved: () => void }) {
  const can = useCan();
  const changed = useChanged();
  const [values, setValues] = useState(data.live);
  const [preview, setPreview] = useState(data.preview);
  const [look, setLook] = useState("html");
  const unchanged = values.subject === data.live.subject && values.text === data.live.text;
  const [save, { busy, error }] = useAction(async (dryRun: boolean) => {
    const answer = await changeMail(data.kind, language, values, dryRun);
    setPreview(answer.preview);
    if (dryRun) return;
    await changed(t("mails.saved"));
    saved();
  });
  const [send, sending] = useAction(async () => {
    await sendTestMail(data.kind, language);
    done(t("mails.sent"));
  });
  const mayChange = can("staff.mails.change");
  return (
    <SimpleGrid cols={{ base: 1, lg: 2 }} spacing="xl">
      <Stack>
        {data.own_subject && (
          <TextInput
            label={t("mails.subject")}
            value={values.subject}
            onChange={({ currentTarget: { value } }) => setValues((before) => ({ ...before, subject: value }))}
            readOnly={!mayChange}
          />
        )}
        <Textarea
          label={t("mails.text")}
          description={t(data.own_subject ? "mails.text.hint" : "mails.text.first_line")}
          value={values.text}
          onChange={({ currentTarget: { value } }) => setValues((before) => ({ ...before, text: value }))}
          readOnly={!mayChange}
          autosize
          minRows={8}
          maxRows={24}
        />
        <Text size="sm" component="div">
          {t("mails.placeholders")}{" "}
          {data.placeholders.map((name) => (
            <Code key={name} mr={6}>{`{{.${name}}}${data.required.includes(name) ? " *" : ""}`}</Code>
          ))}
        </Text>
        {data.required.length > 0 && (
          <Text size="xs" c="dimmed">
            {t("mails.required")}
          </Text>
        )}
        <ErrorNote error={error ?? sending.error} />
        {mayChange && (
          <Group>
            <Button variant="default" onClick={() => void save(true)} loading={busy}>
              {t("mails.try")}
            </Button>
            <Button onClick={() => void save(false)} loading={busy} disabled={unchanged}>
              {t("brand.save")}
            </Button>
            <Button variant="subtle" onClick={() => void send()} loading={sending.busy} disabled={!unchanged}>
              {t("mails.test")}
            </Button>
            {data.changed.includes(language) && (
              <Confirm
                label={t("mails.reset")}
                title={t("mails.reset")}
                text={t("mails.reset.text")}
                action={async () => {
                  await resetMail(data.kind, language);
                  await changed(t("mails.was_reset"));
                  saved();
                }}
              />
            )}
          </Group>
        )}
      </Stack>
      <Stack>
        <Title order={2}>{t("brand.preview")}</Title>
        <Text fw={600}>{preview.subject}</Text>
        <SegmentedControl
          aria-label={t("mails.form")}
          value={look}
          onChange={setLook}
          data={[
            { value: "html", label: t("mails.form.html") },
            { value: "plain", label: t("mails.form.plain") },
          ]}
        />
        <Card withBorder p={look === "html" ? 0 : "md"}>
          {look === "html" ? (
            <MailHTML html={preview.html} label={`${preview.subject}. ${preview.text}`} />
          ) : (
            <Text
              component="pre"
              m={0}
              ff="monospace"
              size="sm"
              style={{ whiteSpace: "pre-wrap", overflowWrap: "anywhere" }}
            >
              {preview.text}
            </Text>
          )}
        </Card>
      </Stack>
    </SimpleGrid>
  );
}
