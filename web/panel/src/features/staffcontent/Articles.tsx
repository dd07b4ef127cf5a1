import { Button, Checkbox, Group, Text } from "@mantine/core";
import { IconArticle } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";

import { inLang } from "~/i18n/formats";
import { languages } from "~/i18n/i18n";
import { DataTable } from "~/ui/DataTable";
import { Empty } from "~/ui/Empty";
import { Load } from "~/ui/Load";
import { PageHeader } from "~/ui/PageHeader";
import { Pager } from "~/ui/Pager";
import { useCan } from "~/ui/staff/api";
import { Filter } from "~/ui/staff/Filter";
import { numberIn, oneIn, textIn, type StaffPage } from "~/ui/staff/page";
import { Search } from "~/ui/staff/Search";
import { StaffLink } from "~/ui/staff/StaffLink";
import { Status } from "~/ui/Status";

import { articleKinds, articles, type Article, type ArticleText } from "./api";
import { t } from "./texts";

/** What the company publishes to read, in all languages, drafts too. */
export function Articles({ search: raw, onSearch }: StaffPage) {
  const can = useCan();
  const search = {
    page: numberIn(raw.page),
    kind: oneIn(raw.kind, articleKinds),
    drafts: raw.drafts === true || undefined,
    q: textIn(raw.q),
  };
  const query = useQuery(articles(search));
  const add = can("staff.articles.create") && (
    <Button
      renderRoot={(props) => (
        <Link to="/staff/$" params={{ _splat: "articles/new" }} search={{ kind: search.kind ?? "kb" }} {...props} />
      )}
    >
      {t("articles.new")}
    </Button>
  );
  const actions = (
    <Group>
      <Button
        variant="default"
        renderRoot={(props) => <Link to="/staff/$" params={{ _splat: "pictures" }} {...props} />}
      >
        {t("articles.pictures")}
      </Button>
      {add}
    </Group>
  );
  return (
    <>
      <PageHeader title={t("articles.title")} description={t("articles.description")} actions={actions} />
      <Group align="flex-end" mb="md">
        <Filter
          label={t("articles.kind")}
          value={search.kind}
          options={articleKinds.map((one) => [one, t(`articles.kind.${one}`)] as const)}
          onChange={(kind) => onSearch({ ...search, kind, page: undefined })}
        />
        <Search
          key={search.q}
          label={t("articles.search")}
          initial={search.q ?? ""}
          onSearch={(q) => onSearch({ ...search, q: q || undefined, page: undefined })}
        />
        <Checkbox
          label={t("articles.drafts")}
          checked={search.drafts ?? false}
          onChange={({ currentTarget: { checked } }) =>
            onSearch({ ...search, drafts: checked || undefined, page: undefined })
          }
          mb={8}
        />
      </Group>
      <Load query={query}>
        {({ data, meta }) =>
          data.length === 0 ? (
            <Empty icon={IconArticle} title={t("articles.none")} text={t("articles.none.text")} action={add} />
          ) : (
            <>
              <DataTable
                caption={t("articles.title")}
                rows={data}
                rowKey={(row) => row.id}
                columns={[
                  {
                    key: "title",
                    label: t("article.title"),
                    render: (row) => <StaffLink to={`articles/${row.id}`}>{titleOf(row)}</StaffLink>,
                  },
                  {
                    key: "kind",
                    label: t("articles.kind"),
                    render: (row) => (
                      <>
                        {t(`articles.kind.${row.kind}`)}
                        <Text size="xs" c="dimmed">
                          {row.slug}
                        </Text>
                      </>
                    ),
                  },
                  ...Object.entries(languages).map(([lang, language]) => ({
                    key: lang,
                    label: language,
                    render: (row: Article) => <State text={row.texts[lang]} />,
                  })),
                ]}
              />
              <Pager meta={meta} onChange={(page) => onSearch({ ...search, page })} />
            </>
          )
        }
      </Load>
    </>
  );
}

const titleOf = (row: Article) =>
  inLang(Object.fromEntries(Object.entries(row.texts).map(([lang, text]) => [lang, text.title])));

function State({ text }: { text?: ArticleText }) {
  if (!text) return <Text c="dimmed">–</Text>;
  return (
    <Status tone={text.draft ? "neutral" : "good"} label={t(text.draft ? "article.draft" : "article.published")} />
  );
}
