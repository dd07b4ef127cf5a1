import {
  Alert,
  Anchor,
  Button,
  Card,
  Group,
  NativeSelect,
  NumberInput,
  SegmentedControl,
  SimpleGrid,
  Stack,
  Text,
  Textarea,
  TextInput,
  Title,
  Typography,
} from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useRef, useState } from "react";

import { ApiFailure } from "~/api/failure";
import { languages, useLang, type Lang } from "~/i18n/i18n";
import { useAction } from "~/ui/action";
import { Confirm } from "~/ui/Confirm";
import { drafts } from "~/ui/drafts";
import { ErrorNote } from "~/ui/ErrorNote";
import { useSubmit } from "~/ui/form";
import { LeaveGuard } from "~/ui/LeaveGuard";
import { done } from "~/ui/notice";
import { PageHeader } from "~/ui/PageHeader";
import { PageLoad } from "~/ui/PageLoad";
import { useCan } from "~/ui/staff/api";
import { useChanged } from "~/ui/staff/changed";
import { oneIn, type StaffPage } from "~/ui/staff/page";
import { Status } from "~/ui/Status";

import {
  article,
  articleKinds,
  publishArticle,
  removeArticle,
  withdrawArticle,
  writeArticle,
  type Article,
  type ArticleDraft,
  type ArticleKind,
} from "./api";
import { fieldsOf, follows, wordsIn, type ArticleFields } from "./article";
import { articleCategories } from "./categories";
import { PictureButton } from "./PictureButton";
import { inserted } from "./pictures";
import { t } from "./texts";

const langs = Object.keys(languages) as Lang[];

/** An article as it is written: a text for each language, seen as readers get it before it is live. */
export function ArticlePage({ id, search, onSearch }: StaffPage) {
  const own = useLang();
  const language = oneIn(search.language, langs) ?? own;
  const isNew = id === "new";
  const query = useQuery({ ...article(Number(id)), enabled: !isNew });
  const choose = (
    <SegmentedControl
      mb="md"
      aria-label={t("article.language")}
      value={language}
      onChange={(next) => onSearch({ ...search, language: next })}
      data={langs.map((value) => ({ value, label: languages[value] }))}
    />
  );
  if (isNew) {
    const kind = oneIn(search.kind, articleKinds) ?? "kb";
    return (
      <>
        <PageHeader title={t(`article.new.${kind}`)} description={t("article.new.text")} />
        {choose}
        <LeaveGuard of={draftsOf(`new ${kind}`)} />
        <Editor key={`${kind} ${language}`} of={draftsOf(`new ${kind}`)} kind={kind} language={language} />
      </>
    );
  }
  return (
    <PageLoad query={query}>
      {(data) => (
        <>
          <PageHeader title={t(`articles.kind.${data.kind}`)} description={<code>{data.slug}</code>} />
          {choose}
          {data.shipped && (
            <Text size="sm" c="dimmed" mb="md">
              {t("article.shipped")}
            </Text>
          )}
          <LeaveGuard of={draftsOf(data.id)} />
          <Editor
            key={`${language} ${language in data.texts}`}
            of={draftsOf(data.id)}
            kind={data.kind}
            language={language}
            present={data}
          />
        </>
      )}
    </PageLoad>
  );
}

/** What the keys of an article's drafts begin with; a language follows. */
const draftsOf = (article: number | string) => `article/${article}/`;

/** A text that was typed and not saved, and the article to which it was typed. */
interface Draft {
  values: ArticleFields;
  read?: Article;
}

interface EditorProps {
  of: string;
  kind: ArticleKind;
  language: Lang;
  /** The article as it is; a new one has none. */
  present?: Article;
}

const isSame = (a: ArticleFields, b: ArticleFields) => JSON.stringify(a) === JSON.stringify(b);

function Editor({ of, kind, language, present }: EditorProps) {
  const can = useCan();
  const changed = useChanged();
  const navigate = useNavigate();
  const queries = useQueryClient();
  // What is edited stays what was read: a change by somebody else is refused, not written over.
  const [draft] = useState(() => drafts.get<Draft>(of + language));
  const [read, setRead] = useState(draft ? draft.read : present);
  const latest = present && present.version > (read?.version ?? 0) ? present : read;
  const text = latest?.texts[language];
  const [saved, setSaved] = useState(() => fieldsOf(kind, language, read));
  const form = useForm<ArticleFields>({
    initialValues: draft?.values ?? saved,
    onValuesChange: (values) => drafts.keep(of + language, isSame(values, saved) ? null : { values, read }),
  });
  const isDirty = !isSame(form.values, saved);
  /** Goes on from what was written, as do drafts in other languages. After a colleague's change all stay at what was read. */
  const take = (now: Article) => {
    if (!follows(now, read)) return;
    drafts.move<Draft>(of, draftsOf(now.id), (other) =>
      other.read?.version === read?.version ? { values: { ...other.values, slug: now.slug }, read: now } : other,
    );
    setRead(now);
  };
  const [preview, setPreview] = useState<{ title: string; html: string } | null>(null);
  const write = async (values: ArticleFields, dryRun: boolean) => {
    const draft: ArticleDraft = {
      ...values,
      kind,
      language,
      slug: values.slug.trim(),
      keywords: wordsIn(values.keywords),
      position: kind === "kb" ? Number(values.position) : undefined,
      category: kind === "glossary" ? undefined : values.category,
      author: kind === "blog" ? values.author : undefined,
      published_at: kind === "blog" && values.published_at ? values.published_at : undefined,
    };
    const answer = await writeArticle(draft, { id: read?.id, version: read?.version, dryRun });
    if (answer.preview) setPreview(answer.preview);
    if (!answer.article) return;
    const typed = form.getValues(); // while it was being saved, too
    drafts.keep(of + language, isSame(typed, values) ? null : { values: typed, read });
    setSaved(values);
    take(answer.article);
    await changed(t(text && !text.draft ? "article.saved.live" : "article.saved"));
    if (!read)
      await navigate({ to: "/staff/$", params: { _splat: `articles/${answer.article.id}` }, search: { language } });
  };
  const save = useSubmit(form, (values) => write(values, false));
  const look = useSubmit(form, (values) => write(values, true));
  const [show, shown] = useAction(async (published: boolean) => {
    if (!read) return;
    take(await (published ? publishArticle(read.id, language, read.version) : withdrawArticle(read.id, language)));
    await changed(t(published ? "article.was_published" : "article.was_withdrawn"));
  });
  const error = save.error ?? look.error ?? shown.error;
  const mayWrite = can("staff.articles.save");
  const body = useRef<HTMLTextAreaElement>(null);
  const field = (name: keyof ArticleFields) => ({ ...form.getInputProps(name), readOnly: !mayWrite });
  return (
    <SimpleGrid cols={{ base: 1, lg: 2 }} spacing="xl">
      <Stack>
        {/* The acts stand outside: what a dialog of theirs submits would reach this form, too. */}
        <form id="article" noValidate onSubmit={save.submit}>
          <Stack>
            {text && (
              <Group justify="space-between">
                <Status
                  tone={text.draft ? "neutral" : "good"}
                  label={t(text.draft ? "article.draft" : "article.published")}
                />
                {!text.draft && (
                  <Anchor href={text.url} target="_blank" rel="noreferrer" size="sm">
                    {t("article.open")}
                  </Anchor>
                )}
              </Group>
            )}
            {read && !text && <Text c="dimmed">{t("article.untranslated")}</Text>}
            {!read && (
              <TextInput label={t("article.slug")} description={t("article.slug.hint")} required {...field("slug")} />
            )}
            <TextInput
              label={t(kind === "glossary" ? "article.term" : "article.title")}
              maxLength={120}
              required
              {...field("title")}
            />
            <Textarea
              label={t(kind === "glossary" ? "article.short" : "article.summary")}
              maxLength={400}
              autosize
              minRows={2}
              required
              {...field("description")}
            />
            {kind !== "glossary" && (
              <NativeSelect
                label={t("article.category")}
                data={articleCategories[kind].map((value) => ({ value, label: t(`category.${value}`) }))}
                {...form.getInputProps("category")}
                disabled={!mayWrite}
              />
            )}
            {kind === "kb" && (
              <NumberInput
                label={t("article.position")}
                description={t("article.position.hint")}
                min={0}
                max={100000}
                allowDecimal={false}
                {...field("position")}
              />
            )}
            {kind === "blog" && (
              <>
                <TextInput label={t("article.author")} maxLength={80} required {...field("author")} />
                <TextInput
                  type="date"
                  label={t("article.published_at")}
                  description={t("article.published_at.hint")}
                  {...field("published_at")}
                />
              </>
            )}
            <TextInput label={t("article.keywords")} description={t("article.keywords.hint")} {...field("keywords")} />
            <Textarea
              label={t("article.body")}
              description={t("article.body.hint")}
              autosize
              minRows={12}
              maxRows={32}
              required
              styles={{ input: { fontFamily: "var(--mantine-font-family-monospace)" } }}
              {...field("body")}
              ref={body}
            />
          </Stack>
        </form>
        <ErrorNote error={error} />
        {error instanceof ApiFailure && error.key === "conflict" && (
          <Alert color="orange" title={t("article.conflict")}>
            {t("article.conflict.text")}
          </Alert>
        )}
        {mayWrite && (
          <Group>
            <Button variant="default" onClick={() => look.submit()}>
              {t("article.preview")}
            </Button>
            <Button type="submit" form="article" disabled={!isDirty}>
              {t(text && !text.draft ? "article.save.live" : "article.save")}
            </Button>
            <PictureButton
              onAdded={(mark) => {
                const at = body.current?.selectionStart ?? form.values.body.length;
                form.setFieldValue("body", inserted(form.values.body, at, mark));
                done(t("picture.added"));
              }}
            />
            {text?.draft && (
              <Button variant="light" onClick={() => void show(true)} loading={shown.busy} disabled={isDirty}>
                {t("article.publish")}
              </Button>
            )}
            {text && !text.draft && (
              <Button variant="light" onClick={() => void show(false)} loading={shown.busy}>
                {t("article.withdraw")}
              </Button>
            )}
            {read && text && (
              <Confirm
                label={t("article.remove")}
                title={t("article.remove")}
                text={t(Object.keys(read.texts).length > 1 ? "article.remove.text" : "article.remove.last")}
                action={async () => {
                  await removeArticle(read.id, language);
                  const isLast = Object.keys(read.texts).length === 1;
                  for (const key of isLast ? drafts.under(of) : [of + language]) drafts.keep(key, null);
                  if (drafts.under(of).length > 0) {
                    // What is typed in another language goes on here.
                    const now = await queries.fetchQuery({ ...article(read.id), staleTime: 0 });
                    take(now);
                  } else await navigate({ to: "/staff/$", params: { _splat: "articles" }, search: { kind } });
                  // The list alone: the article is gone, and this page may still be there.
                  await queries.invalidateQueries({ queryKey: ["staff", "articles"] });
                  done(t("article.removed"));
                }}
              />
            )}
          </Group>
        )}
      </Stack>
      <Stack component="section" aria-labelledby="preview" aria-live="polite">
        <Title order={2} id="preview">
          {t("article.preview.title")}
        </Title>
        {preview ? (
          <Card withBorder>
            <Title order={3} mb="sm">
              {preview.title}
            </Title>
            {/* Made by the server's sanitising renderer; it has nothing that runs. */}
            <Typography dangerouslySetInnerHTML={{ __html: preview.html }} style={{ overflowWrap: "anywhere" }} />
          </Card>
        ) : (
          <Text c="dimmed">{t("article.preview.none")}</Text>
        )}
      </Stack>
    </SimpleGrid>
  );
}
