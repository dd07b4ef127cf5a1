import { Button, Card, Group, Stack, Text } from "@mantine/core";
import { IconDeviceDesktop, IconDeviceMobile } from "@tabler/icons-react";
import { useQuery, useQueryClient } from "@tanstack/react-query";

import { useAction } from "~/ui/action";
import { Confirm } from "~/ui/Confirm";
import { ErrorNote } from "~/ui/ErrorNote";
import { Load } from "~/ui/Load";
import { done } from "~/ui/notice";
import { PageHeader } from "~/ui/PageHeader";
import { Pager } from "~/ui/Pager";
import { Status } from "~/ui/Status";
import { When } from "~/ui/When";

import { endOtherSessions, endSession, sessions, type Session } from "./api";
import { deviceName } from "./device";
import { t } from "./texts";

const phones = new Set(["iPhone", "iPad", "Android"]);

/** Browsers that are signed in. */
export function Sessions({ page, onPage }: { page: number; onPage: (page: number) => void }) {
  const query = useQuery(sessions(page));
  const queries = useQueryClient();
  const changed = () => queries.invalidateQueries({ queryKey: ["account"] });
  return (
    <>
      <PageHeader
        title={t("sessions.title")}
        description={t("sessions.description")}
        actions={
          (query.data?.meta.total ?? 0) > 1 && (
            <Confirm
              label={t("sessions.end_others")}
              title={t("sessions.end_others")}
              text={t("sessions.end_others.text")}
              action={async () => {
                await endOtherSessions();
                await changed();
                done(t("sessions.ended"));
              }}
            />
          )
        }
      />
      <Load query={query}>
        {({ data, meta }) => (
          <>
            <Stack gap="sm" component="ul" p={0} m={0} style={{ listStyle: "none" }}>
              {data.map((session) => (
                <Card withBorder component="li" key={session.id}>
                  <One session={session} onEnded={changed} />
                </Card>
              ))}
            </Stack>
            <Pager meta={meta} onChange={onPage} />
          </>
        )}
      </Load>
    </>
  );
}

function One({ session, onEnded }: { session: Session; onEnded: () => Promise<void> }) {
  const name = deviceName(session);
  const Shape = phones.has(session.system) ? IconDeviceMobile : IconDeviceDesktop;
  const [end, { busy, error }] = useAction(async () => {
    await endSession(session.id);
    await onEnded();
    done(t("sessions.ended"));
  });
  return (
    <Group justify="space-between" align="flex-start" gap="sm">
      <Group gap="sm" align="flex-start" flex={1} miw={220} wrap="nowrap">
        <Shape aria-hidden />
        <Stack gap={4}>
          <Group gap="xs">
            <Text fw={600} title={session.user_agent}>
              {name}
            </Text>
            {session.current && <Status tone="good" label={t("sessions.current")} />}
          </Group>
          <Text size="sm">
            {session.address || t("sessions.no_address")} · {t("sessions.seen")}{" "}
            <When time={session.last_seen_at} form="relative" />
          </Text>
          <Text size="sm" c="dimmed">
            {t(`sessions.method.${session.method}`)}
            {session.second_factor && session.method === "password" && t("sessions.second_factor")} ·{" "}
            <When time={session.created_at} /> · {t("sessions.expires")} <When time={session.expires_at} form="day" />
          </Text>
          <ErrorNote error={error} />
        </Stack>
      </Group>
      {!session.current && (
        <Button
          variant="light"
          color="red"
          size="compact-sm"
          loading={busy}
          onClick={() => void end()}
          aria-label={`${t("sessions.end")}: ${name}`}
        >
          {t("sessions.end")}
        </Button>
      )}
    </Group>
  );
}
