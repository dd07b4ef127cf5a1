import { Button, Stack, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";

import { PageHeader } from "./PageHeader";
import { t } from "./texts";

export function NotFound() {
  return (
    <Stack align="flex-start">
      <PageHeader title={t("not_found.title")} />
      <Text>{t("not_found.text")}</Text>
      <Button component={Link} to="/">
        {t("not_found.home")}
      </Button>
    </Stack>
  );
}
