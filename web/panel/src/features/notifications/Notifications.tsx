import { Anchor, Button, Card, Group, Stack, Switch, Text } from "@mantine/core";
import { IconBell } from "@tabler/icons-react";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";

import { Empty } from "~/ui/Empty";
import { Load } from "~/ui/Load";
import { failed } from "~/ui/notice";
import { PageHeader } from "~/ui/PageHeader";
import { Pager } from "~/ui/Pager";
import { Status } from "~/ui/Status";
import { When } from "~/ui/When";

import { markRead, notifications, type Notification } from "./api";
import { t } from "./texts";

interface Search {
  page?: number;
  unread?: boolean;
}

const tones = { info: "neutral", warning: "warn", critical: "bad" } as const;

export function Notifications({ page = 1, unread = false, onSearch }: Search & { onSearch: (next: Search) => void }) {
  const query = useQuery(notifications(page, unread));
  const queries = useQueryClient();
  const { mutate, isPending } = useMutation({
    mutationFn: markRead,
    onSuccess: () => queries.invalidateQueries({ queryKey: ["notifications"] }),
    onError: failed,
  });
  return (
    <>
      <PageHeader
        title={t("title")}
        description={t("description")}
        actions={
          <>
            <Button variant="subtle" component={Link} to="/account/notifications">
              {t("settings")}
            </Button>
            <Button
              variant="default"
              loading={isPending}
              disabled={!query.data?.meta.unread}
              onClick={() => mutate({ all: true })}
            >
              {t("read_all")}
            </Button>
          </>
        }
      />
      <Switch
        label={t("unread_only")}
        checked={unread}
        onChange={(event) => onSearch({ unread: event.currentTarget.checked || undefined })}
        mb="md"
      />
      <Load query={query}>
        {({ data, meta }) =>
          data.length === 0 ? (
            <Empty icon={IconBell} title={t(unread ? "empty.unread" : "empty")} text={t("empty.text")} />
          ) : (
            <>
              <Stack gap="sm" component="ul" p={0} m={0} style={{ listStyle: "none" }}>
                {data.map((one) => (
                  <Card withBorder component="li" key={one.id}>
                    <One notification={one} onRead={() => mutate({ ids: [one.id] })} />
                  </Card>
                ))}
              </Stack>
              <Pager meta={meta} onChange={(next) => onSearch({ page: next, unread: unread || undefined })} />
            </>
          )
        }
      </Load>
    </>
  );
}

function One({ notification, onRead }: { notification: Notification; onRead: () => void }) {
  const { severity, title, body, link, read_at } = notification;
  return (
    <Group justify="space-between" align="flex-start" gap="sm">
      <Stack gap={4} flex={1} miw={220}>
        <Group gap="xs">
          <Status tone={tones[severity]} label={t(`severity.${severity}`)} />
          <Text size="sm" c="dimmed">
            <When time={notification.created_at} form="relative" />
          </Text>
        </Group>
        <Text fw={read_at ? undefined : 700}>{title}</Text>
        {body && (
          <Text size="sm" style={{ whiteSpace: "pre-line", overflowWrap: "anywhere" }}>
            {body}
          </Text>
        )}
        {link && (
          <Anchor href={link} size="sm" onClick={() => !read_at && onRead()}>
            {t("open")}
            <span className="visually-hidden">: {title}</span>
          </Anchor>
        )}
      </Stack>
      {!read_at && (
        <Button size="compact-sm" variant="subtle" onClick={onRead} aria-label={`${t("read")}: ${title}`}>
          {t("read")}
        </Button>
      )}
    </Group>
  );
}
