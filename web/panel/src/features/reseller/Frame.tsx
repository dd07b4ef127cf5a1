import { Group, SegmentedControl } from "@mantine/core";
import type { ReactNode } from "react";

import { AnchorLink } from "~/ui/AnchorLink";
import { PageHeader } from "~/ui/PageHeader";

import type { World } from "./api";
import { t } from "./texts";

const pages = ["/reseller", "/reseller/start", "/reseller/events", "/reseller/keys", "/reseller/settings"] as const;

/** The head of a reseller's pages: which world they show, and the other pages. */
export function Frame({
  page,
  world,
  onWorld,
  actions,
  children,
}: {
  page: (typeof pages)[number] | "/reseller/new";
  world: World;
  /** Left out where only the sandbox makes sense. */
  onWorld?: (world: World) => void;
  actions?: ReactNode;
  children: ReactNode;
}) {
  return (
    <>
      <PageHeader
        title={t(`title.${page}`)}
        description={t(`description.${page}`)}
        actions={
          (onWorld ?? actions) && (
            <>
              {onWorld && (
                <SegmentedControl
                  aria-label={t("world")}
                  styles={{ label: { whiteSpace: "nowrap" } }}
                  value={world}
                  onChange={(next) => onWorld(next as World)}
                  data={[
                    { value: "live", label: t("world.live") },
                    { value: "sandbox", label: t("world.sandbox") },
                  ]}
                />
              )}
              {actions}
            </>
          )
        }
      />
      <Pages page={page} world={world} />
      {children}
    </>
  );
}

/** The links to the other pages. A page that is none of them, such as that of a service, leads back by the first. */
export function Pages({ page, world }: { page?: string; world: World }) {
  return (
    <Group component="nav" aria-label={t("pages")} gap="lg" mb="lg">
      {pages.map((to) => (
        <AnchorLink
          key={to}
          to={to}
          search={{ world: world === "sandbox" ? world : undefined }}
          fw={to === page ? 700 : undefined}
          aria-current={to === page ? "page" : undefined}
        >
          {t(`title.${to}`)}
        </AnchorLink>
      ))}
    </Group>
  );
}
