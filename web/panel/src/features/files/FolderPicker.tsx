import { Anchor, Breadcrumbs, NavLink, Paper, Text } from "@mantine/core";
import { IconFolder } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";

import { Load } from "~/ui/Load";

import { folders } from "./api";
import classes from "./Files.module.css";
import { crumbs } from "./paths";
import { t } from "./texts";

/** Chooses a directory by walking through them. */
export function FolderPicker({
  service,
  value,
  onChange,
  label,
}: {
  service: number;
  value: string;
  onChange: (path: string) => void;
  label: string;
}) {
  const query = useQuery(folders(service, value));
  const all = [{ name: t("home"), path: "/" }, ...crumbs(value)];
  return (
    <div role="group" aria-label={label}>
      <Text size="sm" fw={500} mb={4}>
        {label}
      </Text>
      <Paper withBorder p="xs">
        <Breadcrumbs className={classes.crumbs} separatorMargin={6} mb="xs">
          {all.map((crumb, at) =>
            at === all.length - 1 ? (
              <Text key={crumb.path} span size="sm" fw={600}>
                {crumb.name}
              </Text>
            ) : (
              <Anchor key={crumb.path} component="button" type="button" size="sm" onClick={() => onChange(crumb.path)}>
                {crumb.name}
              </Anchor>
            ),
          )}
        </Breadcrumbs>
        <div className={classes.folders}>
          <Load query={query}>
            {(found) =>
              found.length === 0 ? (
                <Text size="sm" c="dimmed">
                  {t("picker.none")}
                </Text>
              ) : (
                found.map((entry) => (
                  <NavLink
                    key={entry.path}
                    component="button"
                    type="button"
                    label={entry.name}
                    leftSection={<IconFolder size={16} aria-hidden />}
                    onClick={() => onChange(entry.path)}
                  />
                ))
              )
            }
          </Load>
        </div>
      </Paper>
    </div>
  );
}
