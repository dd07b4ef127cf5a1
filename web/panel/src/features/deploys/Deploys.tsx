import { Button, Code, Group, Text, TextInput } from "@mantine/core";
import { IconRocket } from "@tabler/icons-react";
import { useQuery, useQueryClient } from "@tanstack/react-query";

import { number } from "~/i18n/formats";
import { AnchorLink } from "~/ui/AnchorLink";
import { Confirm } from "~/ui/Confirm";
import { DataTable } from "~/ui/DataTable";
import { Empty } from "~/ui/Empty";
import { Load } from "~/ui/Load";
import { done, refused } from "~/ui/notice";
import { PageHeader } from "~/ui/PageHeader";
import { Status } from "~/ui/Status";
import { When } from "~/ui/When";

import { goBack, releases, type Release } from "./api";
import { site } from "./directory";
import { t } from "./texts";

/** What the list shows: a release, or what was there before the only one. */
type Row = Release | { id: 0 };

const isRelease = (row: Row): row is Release => row.id > 0;

/** The releases of a directory, and the way back to each. */
export function Deploys({
  service,
  directory,
  onDirectory,
}: {
  service: number;
  directory: string;
  onDirectory: (directory: string) => void;
}) {
  const query = useQuery(releases(service, directory));
  const queries = useQueryClient();
  const restore = async (row: Row) => {
    // What was there before the first one is asked for as what was there before the last one: it has to be the only one still.
    if (!isRelease(row)) {
      const shown = query.data?.data[0]?.id;
      const { data } = await queries.fetchQuery({ ...releases(service, directory), staleTime: 0 });
      if (data[0]?.id !== shown) return refused(t("meanwhile"));
    }
    await goBack(service, directory, row.id);
    await Promise.all([
      queries.invalidateQueries({ queryKey: ["service", service, "deploys"] }),
      queries.invalidateQueries({ queryKey: ["service", service, "files"] }),
    ]);
    done(isRelease(row) ? t("done", { release: row.id }) : t("done.first"));
  };
  return (
    <>
      <PageHeader title={t("title")} description={t("description")} />
      <form
        key={directory}
        onSubmit={(event) => {
          event.preventDefault();
          onDirectory(String(new FormData(event.currentTarget).get("directory")).trim() || site);
        }}
      >
        <Group align="flex-end" gap="sm" mb="md">
          <TextInput
            name="directory"
            label={t("directory")}
            defaultValue={directory}
            maxLength={4096}
            autoComplete="off"
            spellCheck={false}
          />
          <Button type="submit" variant="default">
            {t("show")}
          </Button>
        </Group>
      </form>
      <Load query={query}>
        {({ data }) => {
          const [last] = data;
          if (!last)
            return (
              <Empty
                icon={IconRocket}
                title={t("empty.title")}
                text={t("empty.text")}
                action={<Code>stead deploy</Code>}
              />
            );
          const rows: Row[] = data.length === 1 && last.restores === null ? [last, { id: 0 }] : data;
          return (
            <DataTable
              caption={t("title")}
              rows={rows}
              rowKey={(row) => row.id}
              columns={[
                {
                  key: "release",
                  label: t("column.release"),
                  title: true,
                  render: (row) => <Name row={row} />,
                },
                {
                  key: "time",
                  label: t("column.time"),
                  render: (row) => (isRelease(row) ? <When time={row.created_at} /> : "–"),
                },
                {
                  key: "files",
                  label: t("column.files"),
                  right: true,
                  render: (row) => (isRelease(row) ? number(row.files) : "–"),
                },
                {
                  key: "changes",
                  label: t("column.changes"),
                  render: (row) =>
                    isRelease(row)
                      ? t("changes", {
                          added: number(row.added),
                          changed: number(row.changed),
                          removed: number(row.removed),
                        })
                      : "–",
                },
                {
                  key: "state",
                  label: t("column.state"),
                  render: (row) =>
                    row === last ? (
                      <Status tone="good" label={t("state.now")} />
                    ) : (
                      <Status tone="neutral" label={t("state.earlier")} />
                    ),
                },
                {
                  key: "actions",
                  label: t("column.actions"),
                  actions: true,
                  render: (row) =>
                    row !== last && (
                      <Confirm
                        label={t("back")}
                        color={undefined}
                        size="compact-sm"
                        title={isRelease(row) ? t("ask.title", { release: row.id }) : t("ask.first")}
                        text={t("ask.text", { directory })}
                        action={() => restore(row)}
                      />
                    ),
                },
              ]}
            />
          );
        }}
      </Load>
      <Text size="sm" c="dimmed" mt="md">
        {t("kept")}{" "}
        <AnchorLink to="/services/$service/backups" params={{ service: String(service) }} inherit>
          {t("backups")}
        </AnchorLink>
      </Text>
    </>
  );
}

function Name({ row }: { row: Row }) {
  if (!isRelease(row)) return <Text span>{t("release.first")}</Text>;
  return (
    <div>
      <Text span fw={600}>
        {t("release", { release: row.id })}
      </Text>
      {row.restores !== null && (
        <Text size="sm" c="dimmed">
          {row.restores > 0 ? t("restores", { release: row.restores }) : t("restores.first")}
        </Text>
      )}
    </div>
  );
}
