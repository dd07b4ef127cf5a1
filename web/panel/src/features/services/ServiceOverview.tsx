import { Alert, Anchor, Card, Group, SimpleGrid, Stack, Text, Title } from "@mantine/core";
import { IconExternalLink } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";

import { isOn } from "~/app/boot";
import { money } from "~/i18n/formats";
import { Copy } from "~/ui/Copy";
import { Load } from "~/ui/Load";
import { PageHeader } from "~/ui/PageHeader";
import { Usage } from "~/ui/usage/Usage";
import { When } from "~/ui/When";

import { service, type Service } from "./api";
import { BringBack } from "./BringBack";
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
      return (
        <Alert color="orange" title={t("note.past_due")}>
          <Ways service={service.id} ways={["renew", "top_up"]} />
        </Alert>
      );
    case "suspended":
      return (
        <Alert color="red" title={t("note.suspended")}>
          <Stack gap="xs">
            {service.suspend_reason && <Text size="sm">{t(`note.reason.${service.suspend_reason}`)}</Text>}
            {service.terminates_at && (
              <Text size="sm">
                {t("note.terminates")} <When time={service.terminates_at} form="day" />
              </Text>
            )}
            <Ways service={service.id} ways={waysBack[service.suspend_reason ?? "manual"]} />
          </Stack>
        </Alert>
      );
    case "failed":
      return (
        <Alert color="red" title={t("note.failed")}>
          <Ways service={service.id} ways={["order", "support"]} />
        </Alert>
      );
    case "terminated":
      if (service.available_actions.includes("restore"))
        return (
          <Alert color="gray" title={t("note.kept")}>
            <Stack gap="xs" align="flex-start">
              <BringBack service={service} />
              <Ways service={service.id} ways={["order", "support"]} />
            </Stack>
          </Alert>
        );
      return <Over service={service} />;
    case "terminating":
    case "cancelled":
      return <Over service={service} />;
    default:
      return null;
  }
}

/** Says of a service that is over what its owner can do instead. */
function Over({ service }: { service: Service }) {
  return (
    <Alert color="gray" title={t(`note.${service.status as "terminating" | "terminated" | "cancelled"}`)}>
      <Ways service={service.id} ways={["order", "support"]} />
    </Alert>
  );
}

type Way = "renew" | "top_up" | "plan" | "order" | "support";

/** What brings a suspended service back, by the reason. */
const waysBack: Record<NonNullable<Service["suspend_reason"]>, Way[]> = {
  unpaid: ["renew", "top_up"],
  resource_limit: ["plan", "support"],
  abuse: ["support"],
  manual: ["support"],
};

/** Links to the pages where the owner does something about a state; those that the company has switched off are left out. */
function Ways({ service, ways }: { service: number; ways: Way[] }) {
  const plan = `/services/${service}/plan`;
  const pages = {
    renew: { to: plan, section: "services" },
    plan: { to: plan, section: "services" },
    top_up: { to: "/wallet", section: "wallet" },
    order: { to: "/order", section: "orders" },
    support: { to: "/support/new", section: "account" },
  };
  return (
    <Group gap="md">
      {ways
        .filter((way) => isOn(pages[way].section))
        .map((way) => (
          <Anchor key={way} component={Link} to={pages[way].to} size="sm">
            {t(`way.${way}`)}
          </Anchor>
        ))}
    </Group>
  );
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
