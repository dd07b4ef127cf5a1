import { Card, Group, List, Stack, Text, Title } from "@mantine/core";
import { IconPlugConnected } from "@tabler/icons-react";
import { useQuery, useQueryClient } from "@tanstack/react-query";

import { Confirm } from "~/ui/Confirm";
import { Empty } from "~/ui/Empty";
import { Load } from "~/ui/Load";
import { done } from "~/ui/notice";
import { PageHeader } from "~/ui/PageHeader";
import { Pager } from "~/ui/Pager";
import { Status } from "~/ui/Status";
import { When } from "~/ui/When";

import { connections, disconnect, type Connection } from "./api";
import { scopeText } from "./scopes";
import { t } from "./texts";

/** Applications of others that may use the account. */
export function Connections({ page, onPage }: { page: number; onPage: (page: number) => void }) {
  const query = useQuery(connections(page));
  return (
    <>
      <PageHeader title={t("connections.title")} description={t("connections.description")} />
      <Load query={query}>
        {({ data, meta }) =>
          data.length === 0 ? (
            <Empty icon={IconPlugConnected} title={t("connections.empty")} text={t("connections.empty.text")} />
          ) : (
            <>
              <Stack gap="sm" component="ul" p={0} m={0} maw={720} style={{ listStyle: "none" }}>
                {data.map((connection) => (
                  <Card withBorder component="li" key={connection.application.id}>
                    <One connection={connection} />
                  </Card>
                ))}
              </Stack>
              <Pager meta={meta} onChange={onPage} />
            </>
          )
        }
      </Load>
    </>
  );
}

function One({ connection: { application, scopes, connected_at, last_used_at } }: { connection: Connection }) {
  const queries = useQueryClient();
  return (
    <Stack gap="sm">
      <Group justify="space-between" align="flex-start" gap="sm">
        <Group gap="sm">
          <Title order={2} size="h4">
            {application.name}
          </Title>
          {application.sandbox && <Status tone="neutral" label={t("application.sandbox.badge")} />}
        </Group>
        <Confirm
          label={t("connections.disconnect", { name: application.name })}
          title={t("connections.disconnect", { name: application.name })}
          text={t("connections.disconnect.text")}
          icon={t("connections.disconnect.short")}
          size="compact-sm"
          action={async () => {
            await disconnect(application.id);
            await queries.invalidateQueries({ queryKey: ["connections"] });
            done(t("connections.disconnected", { name: application.name }));
          }}
        />
      </Group>
      <Text size="sm">{t("connections.may")}</Text>
      <List size="sm">
        {scopes.map((scope) => (
          <List.Item key={scope}>{scopeText(scope)}</List.Item>
        ))}
      </List>
      <Text size="sm" c="dimmed">
        {t("connections.since")} <When time={connected_at} form="day" /> ·{" "}
        {last_used_at ? (
          <>
            {t("connections.used")} <When time={last_used_at} form="relative" />
          </>
        ) : (
          t("connections.unused")
        )}
      </Text>
    </Stack>
  );
}
