import { Code, Group, Text } from "@mantine/core";
import { IconSettings } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";

import { DataTable } from "~/ui/DataTable";
import { Empty } from "~/ui/Empty";
import { Load } from "~/ui/Load";
import { PageHeader } from "~/ui/PageHeader";
import { Filter } from "~/ui/staff/Filter";
import { oneIn, textIn, type StaffPage } from "~/ui/staff/page";
import { Search } from "~/ui/staff/Search";

import { settings, type Setting } from "./api";
import { t } from "./texts";

/** How the program is configured: each setting with its value, where that is from, and what it does. */
export function Settings({ search: raw, onSearch }: StaffPage) {
  const search = { which: oneIn(raw.which, ["all"] as const), q: textIn(raw.q) };
  const query = useQuery(settings);
  const words = search.q?.toLowerCase() ?? "";
  const sought = ({ env, meaning, source }: Setting) =>
    (search.which === "all" || words !== "" || source !== "default") &&
    `${env} ${meaning}`.toLowerCase().includes(words);
  return (
    <>
      <PageHeader title={t("settings.title")} description={t("settings.description")} />
      <Group align="flex-end" mb="md">
        <Filter
          label={t("settings.which")}
          value={search.which}
          options={[["all", t("settings.all")]]}
          all={t("settings.changed")}
          onChange={(which) => onSearch({ which })}
        />
        <Search
          key={words}
          label={t("settings.search")}
          initial={search.q ?? ""}
          onSearch={(q) => onSearch({ which: search.which, q: q || undefined })}
        />
      </Group>
      <Load query={query}>
        {({ data }) =>
          data.some(sought) ? (
            <DataTable
              caption={t("settings.title")}
              rows={data.filter(sought)}
              rowKey={(row) => row.name}
              columns={[
                {
                  key: "name",
                  label: t("settings.name"),
                  render: (row) => (
                    <>
                      <Code>{row.env}</Code>
                      <Text size="xs" c="dimmed" maw={420} lang="en">
                        {row.meaning}
                      </Text>
                    </>
                  ),
                },
                {
                  key: "value",
                  label: t("settings.value"),
                  render: (row) => (
                    <Text size="sm" style={{ overflowWrap: "anywhere" }}>
                      {row.secret ? t(row.value === "set" ? "settings.set" : "settings.unset") : row.value || "–"}
                    </Text>
                  ),
                },
                { key: "source", label: t("settings.source"), render: (row) => t(`source.${row.source}`) },
                {
                  key: "default",
                  label: t("settings.default"),
                  render: (row) => (
                    <Text size="sm" style={{ overflowWrap: "anywhere" }}>
                      {row.default || "–"}
                    </Text>
                  ),
                },
              ]}
            />
          ) : (
            <Empty icon={IconSettings} title={t("settings.none")} />
          )
        }
      </Load>
    </>
  );
}
