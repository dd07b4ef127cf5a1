import { Button, Stack, Switch, Text } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";

import { AnchorLink } from "~/ui/AnchorLink";
import { DataTable } from "~/ui/DataTable";
import { Load } from "~/ui/Load";
import { failed } from "~/ui/notice";
import { PageHeader } from "~/ui/PageHeader";

import { choose, preferences, type Choice, type Preference } from "./api";
import { t } from "./texts";

/** Which news come by mail and on devices, by topic. A switch takes effect at once. */
export function Preferences() {
  const query = useQuery(preferences);
  return (
    <>
      <PageHeader
        title={t("preferences.title")}
        description={t("preferences.description")}
        actions={
          <Button variant="default" component={Link} to="/notifications">
            {t("title")}
          </Button>
        }
      />
      <Load query={query}>
        {({ data }) => (
          <Stack>
            <DataTable
              caption={t("preferences.title")}
              rows={data}
              rowKey={(row) => row.topic}
              columns={[
                {
                  key: "topic",
                  label: t("preferences.topic"),
                  title: true,
                  render: (row) => (
                    <>
                      <Text fw={600}>{capital(row.title)}</Text>
                      <Text size="sm" c="dimmed">
                        {row.text}
                      </Text>
                    </>
                  ),
                },
                {
                  key: "mail",
                  label: t("preferences.mail"),
                  render: (row) => <Channel preference={row} channel="mail" />,
                },
                {
                  key: "push",
                  label: t("preferences.push"),
                  render: (row) => <Channel preference={row} channel="push" />,
                },
              ]}
            />
            <Text size="sm" c="dimmed">
              {t("preferences.note")} <AnchorLink to="/account/devices">{t("preferences.devices")}</AnchorLink>
            </Text>
          </Stack>
        )}
      </Load>
    </>
  );
}

function Channel({ preference, channel }: { preference: Preference; channel: "mail" | "push" }) {
  const queries = useQueryClient();
  const { mutate, isPending } = useMutation({
    mutationFn: choose,
    scope: { id: "notification-preferences" }, // one after the other: each carries both channels of its topic
    onSuccess: (fresh) => queries.setQueryData(preferences.queryKey, fresh),
    onError: failed,
  });
  if (preference.fixed) return <Text size="sm">{t("preferences.always")}</Text>;
  return (
    <Switch
      aria-label={t(`preferences.${channel}.of`, { topic: preference.title })}
      checked={preference[channel]}
      disabled={isPending}
      onChange={(event) => {
        const now = queries.getQueryData(preferences.queryKey)?.data.find(({ topic }) => topic === preference.topic);
        const { mail, push } = now ?? preference;
        mutate({ topic: preference.topic as Choice["topic"], mail, push, [channel]: event.currentTarget.checked });
      }}
    />
  );
}

const capital = (text: string) => text.charAt(0).toLocaleUpperCase() + text.slice(1);
