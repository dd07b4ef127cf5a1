import { Anchor, Button, Stack } from "@mantine/core";
import { IconServer } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";

import { Empty } from "~/ui/Empty";
import { Load } from "~/ui/Load";
import { PageHeader } from "~/ui/PageHeader";
import { Pager } from "~/ui/Pager";

import { services } from "./api";
import { t } from "./texts";

/** Asks whose page is meant, where an account has more than one service, or none. */
export function ServiceChoice({ page }: { page: string }) {
  const [list, setList] = useState(1);
  const query = useQuery(services(list));
  return (
    <>
      <PageHeader title={t("choose")} />
      <Load query={query}>
        {({ data, meta }) =>
          data.length === 0 ? (
            <Empty
              icon={IconServer}
              title={t("empty.title")}
              text={t("empty.text")}
              action={
                <Button component={Link} to="/order">
                  {t("order")}
                </Button>
              }
            />
          ) : (
            <Stack gap="sm" align="flex-start">
              {data.map(({ id, unicode_domain, label }) => (
                <Anchor key={id} component={Link} to={`/services/${id}/${page}`}>
                  {unicode_domain ?? label}
                </Anchor>
              ))}
              <Pager meta={meta} onChange={setList} />
            </Stack>
          )
        }
      </Load>
    </>
  );
}
