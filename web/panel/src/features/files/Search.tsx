import { Button, Code, Group, Paper, SegmentedControl, Stack, Text } from "@mantine/core";
import { IconSearch } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";

import { AnchorLink } from "~/ui/AnchorLink";
import { Empty } from "~/ui/Empty";
import { Load } from "~/ui/Load";

import { searched, type SearchIn } from "./api";
import { EntryName } from "./Files";
import classes from "./Files.module.css";
import { toSplat } from "./paths";
import { t } from "./texts";

/** Files by name, or lines of them by what they contain. */
export function Search({
  service,
  path,
  q,
  where,
  onWhere,
  onClose,
}: {
  service: number;
  path: string;
  q: string;
  where: SearchIn;
  onWhere: (where: SearchIn) => void;
  onClose: () => void;
}) {
  const query = useQuery(searched(service, path, q, where));
  return (
    <Stack>
      <Group justify="space-between">
        <SegmentedControl
          value={where}
          onChange={(value) => onWhere(value as SearchIn)}
          data={[
            { value: "name", label: t("search.name") },
            { value: "content", label: t("search.content") },
          ]}
        />
        <Button variant="subtle" onClick={onClose}>
          {t("search.close")}
        </Button>
      </Group>
      <Load query={query}>
        {({ data, meta }) =>
          data.length === 0 ? (
            <Empty icon={IconSearch} title={t("search.none", { q })} text={t("search.none_hint")} />
          ) : (
            <>
              <Text size="sm" c="dimmed" role="status">
                {t(meta.truncated || meta.total > data.length ? "search.more" : "search.found", { count: data.length })}
              </Text>
              <Paper withBorder p="sm">
                <Stack component="ul" gap="sm" m={0} p={0} className={classes.found}>
                  {data.map((entry) => (
                    <li key={`${entry.path}:${entry.line ?? 0}`}>
                      <EntryName service={service} entry={entry} label={entry.path} />
                      {entry.excerpt !== null && entry.line !== null && (
                        <AnchorLink
                          to="/services/$service/edit/$"
                          params={{ service: String(service), _splat: toSplat(entry.path) }}
                          search={{ line: entry.line }}
                          preload={false}
                          aria-label={t("search.line", { line: entry.line, name: entry.name })}
                        >
                          <Code className={classes.excerpt}>{`${entry.line}: ${entry.excerpt}`}</Code>
                        </AnchorLink>
                      )}
                    </li>
                  ))}
                </Stack>
              </Paper>
            </>
          )
        }
      </Load>
    </Stack>
  );
}
