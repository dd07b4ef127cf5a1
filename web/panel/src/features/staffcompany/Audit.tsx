import { Anchor, Button, Card, Code, Group, SimpleGrid, Stack, Text } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";

import { ErrorNote } from "~/ui/ErrorNote";
import { PageSkeleton } from "~/ui/Load";
import { PageHeader } from "~/ui/PageHeader";
import { CustomerLink } from "~/ui/staff/CustomerLink";
import { Colleague } from "~/ui/staff/lists";
import { numberIn, textIn, type StaffPage } from "~/ui/staff/page";
import { Search } from "~/ui/staff/Search";
import { When } from "~/ui/When";

import { audit, exportOf, type Entry } from "./api";
import { t } from "./texts";

/** Who of staff did what to whom, and why. */
export function Audit({ search: raw, onSearch }: StaffPage) {
  const filter = {
    account_id: numberIn(raw.account_id),
    action: textIn(raw.action),
    request_id: textIn(raw.request_id),
  };
  const query = useInfiniteQuery(audit(filter));
  const entries = query.data?.pages.flatMap((page) => page.data) ?? [];
  return (
    <>
      <PageHeader
        title={t("audit.title")}
        description={t("audit.description")}
        actions={
          <>
            <Anchor href={exportOf(filter, "csv")} download="audit.csv">
              {t("audit.csv")}
            </Anchor>
            <Anchor href={exportOf(filter, "ndjson")} download="audit.ndjson">
              {t("audit.ndjson")}
            </Anchor>
          </>
        }
      />
      <SimpleGrid cols={{ base: 1, sm: 3 }} mb="md">
        <Search
          key={`account ${filter.account_id ?? ""}`}
          label={t("audit.account")}
          initial={filter.account_id ? String(filter.account_id) : ""}
          onSearch={(id) => onSearch({ ...filter, account_id: numberIn(id) })}
        />
        <Search
          key={`action ${filter.action ?? ""}`}
          label={t("audit.action")}
          initial={filter.action ?? ""}
          onSearch={(action) => onSearch({ ...filter, action: action || undefined })}
        />
        <Search
          key={`request ${filter.request_id ?? ""}`}
          label={t("audit.request")}
          initial={filter.request_id ?? ""}
          onSearch={(request) => onSearch({ ...filter, request_id: request || undefined })}
        />
      </SimpleGrid>
      <ErrorNote error={query.error} retry={() => void query.refetch()} />
      {query.isPending && <PageSkeleton />}
      {query.isSuccess && entries.length === 0 && <Text c="dimmed">{t("audit.none")}</Text>}
      <Stack component="ol" p={0} m={0} style={{ listStyle: "none" }}>
        {entries.map((entry) => (
          <Row key={entry.id} entry={entry} />
        ))}
      </Stack>
      {query.hasNextPage && (
        <Group justify="center" mt="md">
          <Button variant="default" onClick={() => void query.fetchNextPage()} loading={query.isFetchingNextPage}>
            {t("audit.more")}
          </Button>
        </Group>
      )}
    </>
  );
}

const shown = (value: unknown) => (value === null || value === undefined ? "–" : JSON.stringify(value, null, 1));

function Row({ entry }: { entry: Entry }) {
  return (
    <Card withBorder component="li" padding="sm">
      <Group justify="space-between" gap="xs">
        <Group gap="xs">
          <Code>{entry.action}</Code>
          <Text size="sm">
            {entry.subject_kind} {entry.subject}
          </Text>
          {entry.account_id && (
            <Text size="sm">
              <CustomerLink id={entry.account_id} />
            </Text>
          )}
        </Group>
        <Text size="sm" c="dimmed">
          <When time={entry.at} />
        </Text>
      </Group>
      {entry.reason && <Text mt={4}>{entry.reason}</Text>}
      <Text size="sm" c="dimmed">
        {entry.actor_id ? <Colleague id={entry.actor_id} /> : entry.actor_name} · {entry.via}
        {entry.address && ` · ${entry.address}`}
        {entry.request_id && ` · ${entry.request_id}`}
      </Text>
      <details>
        <summary>{t("audit.states")}</summary>
        <SimpleGrid cols={{ base: 1, sm: 2 }} mt="xs">
          <Stack gap={4}>
            <Text size="sm">{t("audit.before")}</Text>
            <Code block>{shown(entry.before)}</Code>
          </Stack>
          <Stack gap={4}>
            <Text size="sm">{t("audit.after")}</Text>
            <Code block>{shown(entry.after)}</Code>
          </Stack>
        </SimpleGrid>
      </details>
    </Card>
  );
}
