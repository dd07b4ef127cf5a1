import { Alert, Anchor, Card, Group, SimpleGrid, Stack, Text, Title } from "@mantine/core";
import { IconExternalLink } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";

import { money } from "~/i18n/formats";
import { Copy } from "~/ui/Copy";
import { Load } from "~/ui/Load";
import { PageHeader } from "~/ui/PageHeader";
import { Usage } from "~/ui/usage/Usage";
import { When } from "~/ui/When";

import { service, type Service } from "./api";
import { ServiceStatus } from "./status";
import { t } from "./texts";

const meters = ["disk_mb", "bandwidth_gb", "sites", "databases", "mailboxes", "cron_jobs"] as const;

/** The first page of a service: how it is, where it is served, what it uses and costs. */
export function ServiceOverview({ id }: { id: number }) {
  const query = useQuery(service(id));
  return (
    <Load query={query}>
      {(data) => (
        <>
          <PageHeader
            title={data.unicode_domain ?? data.label}
            description={data.plan.name}
            aside={<ServiceStatus status={data.status} />}
          />
          <Stack>
            <StateNote service={data} />
            <SimpleGrid cols={{ base: 1, md: 2 }}>
              <Address service={data} />
              <Payment service={data} />
            </SimpleGrid>
            {data.status === "active" && <Usage service={id} meters={meters} />}
          </Stack>
        </>
      )}
    </Load>
  );
}

/** What the state means for the owner, and what to do next. */
function StateNote({ service }: { service: Service }) {
  switch (service.status) {
    case "pending":
    case "provisioning":
      return (
        <Alert color="blue" role="status" title={t("note.provisioning")}>
          {t("note.provisioning_text")}
        </Alert>
      );
    case "past_due":
      return <Alert color="orange" title={t("note.past_due")} />;
    case "suspended":
      return (
        <Alert color="red" title={t("note.suspended")}>
          {service.terminates_at && (
            <>
              {t("note.terminates")} <When time={service.terminates_at} form="day" />
            </>
          )}
        </Alert>
      );
    case "failed":
      return <Alert color="red" title={t("note.failed")} />;
    default:
      return null;
  }
}

function Address({ service }: { service: Service }) {
  return (
    <Card withBorder>
      <Title order={2} mb="sm">
        {t("address")}
      </Title>
      <Stack gap="xs">
        {service.domain && (
          <Anchor href={`http://${service.domain}/`} target="_blank" rel="noreferrer">
            <Group gap={4}>
              {service.unicode_domain ?? service.domain}
              <IconExternalLink size={16} aria-label={t("new_window")} />
            </Group>
          </Anchor>
        )}
        {service.origin_url && (
          <Text size="sm">
            {t("preview")}:{" "}
            <Anchor href={service.origin_url} target="_blank" rel="noreferrer">
              {service.origin_url}
            </Anchor>
          </Text>
        )}
        {service.ipv4 && (
          <Text size="sm" component="div">
            IPv4 <Copy value={service.ipv4} />
          </Text>
        )}
        {service.ipv6 && (
          <Text size="sm" component="div">
            IPv6 <Copy value={service.ipv6} />
          </Text>
        )}
        {service.nameservers.map((host) => (
          <Text size="sm" component="div" key={host}>
            {t("nameserver")} <Copy value={host} />
          </Text>
        ))}
      </Stack>
    </Card>
  );
}

function Payment({ service }: { service: Service }) {
  return (
    <Card withBorder>
      <Title order={2} mb="sm">
        {t("payment")}
      </Title>
      <Stack gap="xs">
        {service.expires_at && (
          <Text>
            {t("paid_until")} <When time={service.expires_at} form="day" />
          </Text>
        )}
        <Text>{t("renews_for", { price: money(service.renew_price), count: service.period_months })}</Text>
        <Text c={service.renewal_covered ? undefined : "var(--status-warn)"}>
          {!service.auto_renew
            ? t("renewal.off")
            : service.renewal_covered
              ? t("renewal.covered")
              : t("renewal.uncovered")}
        </Text>
      </Stack>
    </Card>
  );
}
