import { NavLink } from "@mantine/core";
import { IconArrowLeft } from "@tabler/icons-react";
import { Link, useRouterState } from "@tanstack/react-router";

import { useCan } from "~/ui/staff/api";

import { staffPages } from "./navigation";
import { t } from "./texts";

/** The menu of the pages of staff: those that the reader's role may open. */
export function StaffMenu() {
  const can = useCan();
  const path = useRouterState({ select: (state) => state.location.pathname });
  const kind = path.split("/")[2] ?? "";
  return (
    <>
      <NavLink
        component={Link}
        to="/"
        activeOptions={{ exact: true }}
        label={t("nav.back")}
        leftSection={<IconArrowLeft size={18} aria-hidden />}
      />
      {staffPages
        .filter((page) => can(page.operation))
        .map(({ to, label, icon: Shape }) => (
          <NavLink
            key={to}
            component={Link}
            to={`/staff/${to}`}
            activeOptions={{ exact: true }}
            label={t(label)}
            leftSection={<Shape size={18} aria-hidden />}
            active={kind === to}
            aria-current={kind === to ? "page" : undefined}
          />
        ))}
    </>
  );
}
