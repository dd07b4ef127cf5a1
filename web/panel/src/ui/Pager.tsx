import { Group, Pagination } from "@mantine/core";

import { t } from "./texts";

/** The pages of a list, of which the interface answers 50 items each at most. */
export function Pager({
  meta,
  onChange,
}: {
  meta: { page: number; last_page: number };
  onChange: (page: number) => void;
}) {
  if (meta.last_page < 2) return null;
  return (
    <Group justify="center" component="nav" aria-label={t("pages")} mt="md">
      <Pagination
        value={meta.page}
        total={meta.last_page}
        onChange={onChange}
        getControlProps={(control) => ({ "aria-label": t(`pages.${control}`) })}
      />
    </Group>
  );
}
