import {
  Alert,
  Autocomplete,
  Button,
  Checkbox,
  Group,
  NativeSelect,
  Progress,
  SegmentedControl,
  SimpleGrid,
  Stack,
  Text,
  Textarea,
  TextInput,
  Title,
} from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";

import { ApiFailure } from "~/api/failure";
import { languages, useLang, type Lang } from "~/i18n/i18n";
import { useAction } from "~/ui/action";
import { Banner } from "~/ui/Banner";
import { Confirm } from "~/ui/Confirm";
import { ErrorNote } from "~/ui/ErrorNote";
import { useSubmit } from "~/ui/form";
import { done } from "~/ui/notice";
import { PageHeader } from "~/ui/PageHeader";
import { PageLoad } from "~/ui/PageLoad";
import { Act } from "~/ui/staff/Act";
import { useCan } from "~/ui/staff/api";
import { useChanged } from "~/ui/staff/changed";
import type { StaffPage } from "~/ui/staff/page";
import { Status } from "~/ui/Status";

import {
  announcement,
  audiences,
  isTelling,
  machines,
  plans,
  publishAnnouncement,
  removeAnnouncement,
  withdrawAnnouncement,
  writeAnnouncement,
  type Announcement,
  type Full,
} from "./api";
import { fieldsOf, wishOf, written, type Fields } from "./fields";
import { tones } from "./states";
import { t } from "./texts";

const langs = Object.keys(languages) as Lang[];

/** An announcement as it is written, seen as customers get it before it is live. */
export function AnnouncementPage({ id }: StaffPage) {
  const isNew = id === "new";
  const query = useQuery({ ...announcement(Number(id)), enabled: !isNew });
  if (isNew)
    return (
      <>
        <PageHeader title={t("new")} description={t("new.text")} />
        <Editor />
      </>
    );
  return (
    <PageLoad query={query}>
      {(data) => (
        <>
          <PageHeader title={t("one")} actions={<Status tone={tones[data.state]} label={t(`state.${data.state}`)} />} />
          <Told one={data} />
          <Editor key={data.id} present={data} />
        </>
      )}
    </PageLoad>
  );
}

/** How many accounts have been told. */
function Told({ one }: { one: Full }) {
  if (!one.notify || !one.published_at) return null;
  return (
    <Stack gap={4} mb="lg" role="status">
      <Text size="sm">
        {isTelling(one)
          ? t("told.progress", { count: one.told, total: one.accounts })
          : t(one.finished_at ? "told.done" : "told.later", { count: one.told })}
      </Text>
      {isTelling(one) && (
        <Progress value={one.accounts ? (100 * one.told) / one.accounts : 100} aria-label={t("told")} />
      )}
    </Stack>
  );
}

function Editor({ present }: { present?: Full }) {
  const can = useCan();
  const changed = useChanged();
  const navigate = useNavigate();
  const queries = useQueryClient();
  // What is edited stays what was read: a change by somebody else is refused, not written over.
  const [read, setRead] = useState<Announcement | undefined>(present);
  const [accounts, setAccounts] = useState(present?.accounts);
  const [language, setLanguage] = useState<Lang>(useLang());
  const form = useForm<Fields>({ initialValues: fieldsOf(read) });
  const ofNode = form.values.audience === "node";
  const named = ofNode || form.values.audience === "plan";
  const { data: nodeNames } = useQuery({ ...machines, enabled: ofNode && can("staff.nodes.list") });
  const { data: planNames } = useQuery({ ...plans, enabled: form.values.audience === "plan" });

  const write = async (fields: Fields, dryRun: boolean) => {
    const answer = await writeAnnouncement(wishOf(fields, read), { id: read?.id, version: read?.version, dryRun });
    if (answer.preview) setAccounts(answer.preview.accounts);
    if (!answer.announcement) return;
    setRead(answer.announcement);
    form.resetDirty();
    await changed(t(read?.published_at ? "saved.live" : "saved"));
    if (!read) await navigate({ to: "/staff/$", params: { _splat: `announcements/${answer.announcement.id}` } });
  };
  const save = useSubmit(form, (fields) => write(fields, false));
  const count = useSubmit(form, (fields) => write(fields, true));
  const [withdraw, withdrawn] = useAction(async () => {
    if (!read) return;
    setRead(await withdrawAnnouncement(read.id));
    await changed(t("withdrawn"));
  });

  const isOver = read?.state === "over" || read?.state === "withdrawn";
  const mayWrite = can("staff.announcements.save") && !isOver;
  const isLive = Boolean(read?.published_at);
  const error = save.error ?? count.error ?? withdrawn.error;
  const shown = written(form.values);
  const missing = langs.filter((lang) => !shown.includes(lang));
  const choice = (key: "audience" | "level" | "audience_of") => ({
    ...form.getInputProps(key),
    disabled: !mayWrite || (isLive && key !== "level"),
  });
  return (
    <SimpleGrid cols={{ base: 1, lg: 2 }} spacing="xl">
      <Stack>
        {/* The acts stand outside: what a dialog of theirs submits would reach this form, too. */}
        <form id="announcement" noValidate onSubmit={save.submit}>
          <Stack>
            <SegmentedControl
              aria-label={t("language")}
              value={language}
              onChange={(next) => setLanguage(next as Lang)}
              data={langs.map((value) => ({ value, label: languages[value] }))}
            />
            <TextInput
              key={`title ${language}`}
              label={t("field.title")}
              maxLength={120}
              required
              readOnly={!mayWrite}
              {...form.getInputProps(`title.${language}`)}
            />
            <Textarea
              key={`body ${language}`}
              label={t("field.body")}
              description={t("field.body.hint")}
              maxLength={2000}
              autosize
              minRows={4}
              maxRows={16}
              required
              readOnly={!mayWrite}
              {...form.getInputProps(`body.${language}`)}
            />
            <TextInput
              label={t("field.link")}
              description={t("field.link.hint")}
              placeholder="/panel/wallet"
              maxLength={300}
              readOnly={!mayWrite}
              {...form.getInputProps("link")}
            />
            <NativeSelect
              label={t("level")}
              data={(["info", "warning"] as const).map((value) => ({ value, label: t(`level.${value}`) }))}
              {...choice("level")}
            />
            <NativeSelect
              label={t("audience")}
              data={audiences.map((value) => ({ value, label: t(`audience.${value}`) }))}
              {...choice("audience")}
            />
            {named && (
              <Autocomplete
                label={t(ofNode ? "audience.node.name" : "audience.plan.name")}
                description={t(ofNode ? "audience.node.hint" : "audience.plan.hint")}
                data={ofNode ? nodeNames : planNames}
                required
                {...choice("audience_of")}
              />
            )}
            <SimpleGrid cols={{ base: 1, sm: 2 }}>
              <TextInput
                type="datetime-local"
                label={t("from")}
                description={t("from.hint")}
                disabled={!mayWrite || isLive}
                {...form.getInputProps("starts_at")}
              />
              <TextInput
                type="datetime-local"
                label={t("until")}
                description={t("until.hint")}
                disabled={!mayWrite}
                {...form.getInputProps("ends_at")}
              />
            </SimpleGrid>
            <Checkbox
              label={t("notify")}
              description={t("notify.hint")}
              disabled={!mayWrite || isLive}
              {...form.getInputProps("notify", { type: "checkbox" })}
            />
            {form.values.notify && (
              <Checkbox
                label={t("mail")}
                description={t("mail.hint")}
                disabled={!mayWrite || isLive}
                {...form.getInputProps("mail", { type: "checkbox" })}
              />
            )}
          </Stack>
        </form>
        <ErrorNote error={error} />
        {error instanceof ApiFailure && error.key === "conflict" && (
          <Alert color="orange" title={t("conflict")}>
            {t("conflict.text")}
          </Alert>
        )}
        {mayWrite && (
          <Group>
            <Button type="submit" form="announcement" disabled={!form.isDirty()}>
              {t(isLive ? "save.live" : "save")}
            </Button>
            <Button variant="default" onClick={() => count.submit()}>
              {t("count")}
            </Button>
            {read && !isLive && (
              <Act
                operation="staff.announcements.publish"
                label={t("publish")}
                variant="light"
                disabled={form.isDirty()}
                text={t(read.notify ? (read.mail ? "publish.mail" : "publish.notify") : "publish.text", {
                  count: accounts ?? 0,
                })}
                act={async () => {
                  setRead(await publishAnnouncement(read.id, read.version));
                  await changed(t("published"));
                }}
              />
            )}
            {isLive && (
              <Button variant="light" color="red" loading={withdrawn.busy} onClick={() => void withdraw()}>
                {t("withdraw")}
              </Button>
            )}
            {read && !isLive && (
              <Confirm
                label={t("remove")}
                title={t("remove")}
                text={t("remove.text")}
                action={async () => {
                  await removeAnnouncement(read.id);
                  await navigate({ to: "/staff/$", params: { _splat: "announcements" } });
                  // The list alone: the announcement is gone, and this page may still be there.
                  await queries.invalidateQueries({ queryKey: ["staff", "announcements"] });
                  done(t("removed"));
                }}
              />
            )}
          </Group>
        )}
      </Stack>
      <Stack component="section" aria-labelledby="preview" aria-live="polite">
        <Title order={2} id="preview">
          {t("preview")}
        </Title>
        {accounts !== undefined && <Text>{t("accounts", { count: accounts })}</Text>}
        {shown.length === 0 && <Text c="dimmed">{t("preview.none")}</Text>}
        {shown.map((lang) => (
          <Stack key={lang} gap={4} lang={lang}>
            <Text size="sm" c="dimmed">
              {languages[lang]}
            </Text>
            <Banner
              level={form.values.level}
              title={form.values.title[lang] || "…"}
              body={form.values.body[lang]}
              link={form.values.link.trim() || undefined}
            />
          </Stack>
        ))}
        {shown.length > 0 && missing.length > 0 && (
          <Text size="sm" c="dimmed">
            {t("preview.missing", { languages: missing.map((lang) => languages[lang]).join(", ") })}
          </Text>
        )}
      </Stack>
    </SimpleGrid>
  );
}
